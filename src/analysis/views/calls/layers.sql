-- What each layer did, by operation: all spans, and the events of the page cache, which have no duration.
-- Of the block layer, requests are counted when they complete.
--   layer, operation      as in events: what it was and, of the block layer, what for ('read ahead', 'write metadata')
--   operations            how many
--   bytes                 bytes moved; NULL: the operation moves none
--   errors                operations that returned an error
--   unfinished            operations whose task died inside them, or that were open when the recording stopped
--   total_ns              sum of their durations; of threads that wait at the same time, more than the time that passed
--   mean_ns, p50_ns, p99_ns, max_ns   durations, exact; NULL: no spans
CREATE VIEW layers AS
SELECT layer, operation,
       count(*) AS operations,
       total(bytes) AS bytes,
       total(CASE WHEN is_error(error) THEN 1 ELSE 0 END) AS errors,
       total(CASE WHEN is_unfinished(error) THEN 1 ELSE 0 END) AS unfinished,
       total(duration_ns) AS total_ns,
       mean(duration_ns) AS mean_ns,
       p50(duration_ns) AS p50_ns,
       p99(duration_ns) AS p99_ns,
       max(duration_ns) AS max_ns
FROM events
WHERE duration_ns IS NOT NULL OR layer IN (SELECT layer FROM layers_without_spans)
GROUP BY layer, operation;

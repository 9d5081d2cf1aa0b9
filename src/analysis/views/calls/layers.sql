-- What each layer did: one row per layer and operation. It counts spans, and the events of the page
-- cache, which have no duration. Requests of the block layer count at their completion.
--   layer, operation      as in events; for the block layer including the purpose: 'write metadata'
--   operations            number of operations
--   bytes                 bytes moved; NULL: the operation moves none
--   errors                operations that returned an error
--   unfinished            operations that did not end: their task died, or the recording stopped
--   total_ns              sum of the durations; threads that wait at the same time can exceed the elapsed time
--   mean_ns, p50_ns, p99_ns, max_ns   exact durations; NULL: no spans
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
WHERE duration_ns IS NOT NULL OR lacks_spans(layer)
GROUP BY layer, operation;

-- What each layer did, by class of operation: all spans, and the events of the page cache, which have no duration.
-- Of the block layer, requests are counted when they complete.
--   layer, class          as in the view operations
--   operations            how many
--   bytes                 bytes moved; NULL: the class moves none
--   errors                operations that returned an error
--   total_ns              sum of their durations; of threads that wait at the same time, more than the time that passed
--   mean_ns, p50_ns, p99_ns, max_ns   durations, exact; NULL: no spans
CREATE VIEW layers AS
SELECT layer, class,
       count(*) AS operations,
       CAST(sum(bytes) AS BIGINT) AS bytes,
       CAST(sum(CASE WHEN error < 0 THEN 1 ELSE 0 END) AS BIGINT) AS errors,
       CAST(sum(duration_ns) AS BIGINT) AS total_ns,
       CAST(round(avg(duration_ns)) AS BIGINT) AS mean_ns,
       p50(duration_ns) AS p50_ns,
       p99(duration_ns) AS p99_ns,
       max(duration_ns) AS max_ns
FROM events
WHERE duration_ns IS NOT NULL OR layer = 'cache'
GROUP BY layer, class;

-- Calls on files over time: one row per path and bin of time, of the 60 paths with the largest total
-- time. Calls are those of file_calls.
--   path            as in file_calls; '(no known name)'
--   bin             from 0, in steps of map_bin_ns (time_grid), of the begins of calls
--   calls           number of calls
--   bytes_read, bytes_written   bytes that they moved
--   total_ns        sum of their durations
CREATE VIEW file_bins AS
WITH
  calls AS MATERIALIZED (
    SELECT coalesce(nullif(c.path, ''), '(no known name)') AS path, c.class AS class, c.bytes AS bytes, c.duration_ns AS duration_ns,
           CAST(least(quotient(minus(greatest(c.ts_ns, r.begin_ns), r.begin_ns), g.map_bin_ns), 199) AS BIGINT) AS bin
    FROM file_calls AS c CROSS JOIN run AS r CROSS JOIN time_grid AS g
  ),
  named AS (SELECT path FROM calls GROUP BY path ORDER BY total(duration_ns) DESC, path LIMIT 60)
SELECT path, bin, count(*) AS calls, coalesce(total(CASE WHEN takes_bytes(class) THEN bytes END), 0) AS bytes_read,
       coalesce(total(CASE WHEN gives_bytes(class) THEN bytes END), 0) AS bytes_written, total(duration_ns) AS total_ns
FROM calls SEMI JOIN named USING (path)
GROUP BY path, bin;

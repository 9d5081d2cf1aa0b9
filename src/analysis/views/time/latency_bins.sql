-- How long operations took when: one row per layer, operation, bin of time and class of duration. It
-- covers the calls that programs make, asynchronous operations and requests of devices, without
-- waits for others; of these the 16 operations with the largest total time.
--   layer, operation   as in layers
--   bin                from 0, in steps of map_bin_ns (time_grid), of their begins
--   class              of the duration: from 64 ns * 2 ^ (class / 3) on; shorter ones are in class 0
--   operations         number of operations
CREATE VIEW latency_bins AS
WITH
  spans AS (
    SELECT e.layer AS layer, e.operation AS operation, e.duration_ns AS duration_ns,
           CAST(least(quotient(minus(e.ts_ns, r.begin_ns), g.map_bin_ns), 199) AS BIGINT) AS bin
    FROM events AS e
      CROSS JOIN run AS r
      CROSS JOIN time_grid AS g
      LEFT JOIN files_without_device AS n ON e.file = n.file
    WHERE e.duration_ns IS NOT NULL AND n.file IS NULL AND NOT waits_for_others(e.class)
      AND (is_asked(e.layer) OR e.layer = layer_at('devices'))
  ),
  named AS (
    SELECT layer, operation FROM spans GROUP BY layer, operation ORDER BY total(duration_ns) DESC, layer, operation LIMIT 16
  )
SELECT layer, operation, bin, CAST(floor(3 * log2(greatest(duration_ns, 64) / 64)) AS INTEGER) AS class, count(*) AS operations
FROM spans SEMI JOIN named USING (layer, operation)
GROUP BY ALL;

-- Sizes of operations: one row per layer, operation and size class. Classes double up to 2 to the
-- 62. Only operations that can move bytes count.
--   layer, operation   as in layers
--   from_bytes         smallest size of the class; 0: nothing was moved
--   below_bytes        first size above the class
--   operations, bytes  number of operations, and the sum of their bytes
CREATE VIEW sizes AS
WITH
  classes AS (
    SELECT layer, operation, bytes,
           CASE bytes WHEN 0 THEN 0 ELSE CAST(power(2, least(floor(log2(bytes)), 62)) AS UBIGINT) END AS from_bytes
    FROM events
    WHERE duration_ns IS NOT NULL AND bytes IS NOT NULL AND error = 0
  )
SELECT layer, operation, from_bytes, CASE from_bytes WHEN 0 THEN 1 ELSE from_bytes * 2 END AS below_bytes,
       count(*) AS operations, total(bytes) AS bytes
FROM classes
GROUP BY layer, operation, from_bytes;

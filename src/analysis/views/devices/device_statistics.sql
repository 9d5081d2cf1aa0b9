-- Statistics of the requests to devices: one row per device and operation, and one for all operations.
-- A request completed in parts counts once for each part.
--   device, device_name   the whole disk
--   operation         'read', 'write', 'flush', 'discard', ...; 'total': all
--   requests, errors  number of completed requests, and of the failed ones
--   bytes, bytes_mean, bytes_min, bytes_max   their sizes
--   bytes_p90, bytes_p99, bytes_p999, bytes_p9999   of the requests, exact
--   volume_p90, volume_p99, volume_p999, volume_p9999   of the bytes: requests up to that size have 90 %
--                     (99 %, ...) of the bytes
--   latency_mean_ns, latency_min_ns, latency_max_ns   from the arrival of a request's first bio to its
--                     completion
--   latency_total_ns  sum of the latencies
--   latency_p90_ns, latency_p99_ns, latency_p999_ns, latency_p9999_ns   of the requests, exact
--   time_p90_ns, time_p99_ns, time_p999_ns, time_p9999_ns   of the time: requests up to that latency have 90 %
--                     (99 %, ...) of the sum of latencies
--   iops, mib_per_s   requests and MiB by duration_ns
--   workset_bytes     the largest number of distinct bytes that were in use. Requests put the bytes that they
--                     touch into use; a discard ends the use of its bytes by other operations
--   duration_ns       from the first arrival of a request of the device to the last completion
CREATE VIEW device_statistics AS
WITH
  asked AS (
    SELECT device, choice_text('block', flags) AS operation, bytes, error, plus(queue_ns, duration_ns) AS latency_ns,
           minus(ts_ns, queue_ns) AS from_ns, plus(ts_ns, duration_ns) AS until_ns, CASE WHEN bytes > 0 THEN sector END AS sector
    FROM requests
  ),
  grouped AS (
    SELECT * FROM asked
    UNION ALL
    SELECT * REPLACE ('total' AS operation) FROM asked
  ),
  summed AS (
    SELECT *, sum(latency_ns) OVER (PARTITION BY device, operation ORDER BY latency_ns) AS upto_ns,
           sum(latency_ns) OVER (PARTITION BY device, operation) AS all_ns,
           sum(bytes) OVER (PARTITION BY device, operation ORDER BY bytes) AS upto_bytes,
           sum(bytes) OVER (PARTITION BY device, operation) AS all_bytes
    FROM grouped
  ),
  statistics AS (
    SELECT device, operation, count(*) AS requests, total(CASE WHEN is_error(error) THEN 1 ELSE 0 END) AS errors,
           total(bytes) AS bytes, mean(bytes) AS bytes_mean, min(bytes) AS bytes_min, max(bytes) AS bytes_max,
           mean(latency_ns) AS latency_mean_ns, min(latency_ns) AS latency_min_ns, max(latency_ns) AS latency_max_ns, total(latency_ns) AS latency_total_ns,
           quantile_disc(latency_ns, [0.9, 0.99, 0.999, 0.9999]) AS latencies,
           min(CASE WHEN upto_ns >= 0.9 * all_ns THEN latency_ns END) AS time_p90_ns,
           min(CASE WHEN upto_ns >= 0.99 * all_ns THEN latency_ns END) AS time_p99_ns,
           min(CASE WHEN upto_ns >= 0.999 * all_ns THEN latency_ns END) AS time_p999_ns,
           min(CASE WHEN upto_ns >= 0.9999 * all_ns THEN latency_ns END) AS time_p9999_ns,
           quantile_disc(bytes, [0.9, 0.99, 0.999, 0.9999]) AS sizes,
           min(CASE WHEN upto_bytes >= 0.9 * all_bytes THEN bytes END) AS volume_p90,
           min(CASE WHEN upto_bytes >= 0.99 * all_bytes THEN bytes END) AS volume_p99,
           min(CASE WHEN upto_bytes >= 0.999 * all_bytes THEN bytes END) AS volume_p999,
           min(CASE WHEN upto_bytes >= 0.9999 * all_bytes THEN bytes END) AS volume_p9999
    FROM summed
    GROUP BY device, operation
  ),
  ranges AS (
    SELECT device, operation, from_ns, sector, plus(sector, (CAST(bytes AS UBIGINT) + 511) // 512) AS end_sector FROM grouped WHERE sector IS NOT NULL
  ),
  changes AS (
    SELECT *, false AS is_removed FROM ranges WHERE operation <> 'total'
    UNION ALL
    SELECT device, 'total' AS operation, from_ns, sector, end_sector, operation = 'discard' AS is_removed FROM ranges WHERE operation <> 'total'
    UNION ALL
    SELECT r.device, s.operation, r.from_ns, r.sector, r.end_sector, true AS is_removed
    FROM ranges AS r JOIN statistics AS s ON r.device = s.device
    WHERE r.operation = 'discard' AND s.operation NOT IN ('discard', 'total')
  ),
  worksets AS (
    SELECT device, operation, 512 * peak_length(from_ns, sector, end_sector, is_removed) AS workset_bytes FROM changes GROUP BY device, operation
  ),
  spans AS (SELECT device, minus(max(until_ns), min(from_ns)) AS duration_ns FROM asked GROUP BY device)
SELECT s.device AS device, d.name AS device_name, s.operation AS operation, s.requests AS requests, s.errors AS errors,
       s.bytes AS bytes, s.bytes_mean AS bytes_mean, s.bytes_min AS bytes_min, s.bytes_max AS bytes_max,
       s.sizes[1] AS bytes_p90, s.sizes[2] AS bytes_p99, s.sizes[3] AS bytes_p999, s.sizes[4] AS bytes_p9999,
       s.volume_p90 AS volume_p90, s.volume_p99 AS volume_p99, s.volume_p999 AS volume_p999, s.volume_p9999 AS volume_p9999,
       s.latency_mean_ns AS latency_mean_ns, s.latency_min_ns AS latency_min_ns, s.latency_max_ns AS latency_max_ns, s.latency_total_ns AS latency_total_ns,
       s.latencies[1] AS latency_p90_ns, s.latencies[2] AS latency_p99_ns, s.latencies[3] AS latency_p999_ns,
       s.latencies[4] AS latency_p9999_ns, s.time_p90_ns AS time_p90_ns, s.time_p99_ns AS time_p99_ns, s.time_p999_ns AS time_p999_ns, s.time_p9999_ns AS time_p9999_ns,
       1e9 * s.requests / nullif(p.duration_ns, 0) AS iops, 1e9 / 1048576 * s.bytes / nullif(p.duration_ns, 0) AS mib_per_s,
       coalesce(w.workset_bytes, 0) AS workset_bytes, p.duration_ns AS duration_ns
FROM statistics AS s
  JOIN spans AS p ON s.device = p.device
  LEFT JOIN worksets AS w ON s.device = w.device AND s.operation = w.operation
  LEFT JOIN devices AS d ON s.device = d.device;

-- The width of the class of a value: classes of one unit up to twice their number, then as many for each
-- doubling.
CREATE MACRO class_width(value, classes) AS CASE WHEN value < 2 * classes THEN CAST(1 AS UBIGINT)
  ELSE CAST(power(2, least(floor(log2(value / classes)), 62)) AS UBIGINT) END;

-- Histograms of the requests to devices: one row per device, operation, quantity and class of values that
-- occurs. Their bounds are those of iotrace: latencies double; sizes have 256 and depths 128 classes of one
-- unit, then as many classes for each doubling.
--   device, device_name, operation   as in device_statistics
--   quantity         'latency' in nanoseconds, 'size' in sectors of 512 bytes, 'depth': tags in use at issue
--   from_value, to_value   the smallest and the largest value of the class
--   requests         number of requests with such a value
CREATE VIEW device_histograms AS
WITH
  asked AS (
    SELECT device, choice_text('block', flags) AS operation, plus(queue_ns, duration_ns) AS latency_ns, bytes, tags_in_use
    FROM requests
  ),
  grouped AS (
    SELECT * FROM asked
    UNION ALL
    SELECT * REPLACE ('total' AS operation) FROM asked
  ),
  measured AS (
    SELECT device, operation, 'latency' AS quantity, CAST(latency_ns AS UBIGINT) AS value, 1 AS classes FROM grouped
    UNION ALL
    SELECT device, operation, 'size' AS quantity, CAST((CAST(bytes AS UBIGINT) + 511) // 512 AS UBIGINT) AS value, 256 AS classes FROM grouped WHERE bytes > 0
    UNION ALL
    SELECT device, operation, 'depth' AS quantity, CAST(tags_in_use AS UBIGINT) AS value, 128 AS classes FROM grouped WHERE tags_in_use > 0
  ),
  classes AS (
    SELECT device, operation, quantity, value,
           class_width(value, classes) AS width
    FROM measured
  )
SELECT c.device AS device, any_value(d.name) AS device_name, c.operation AS operation, c.quantity AS quantity,
       c.value // c.width * c.width AS from_value, plus(c.value // c.width * c.width, c.width - 1) AS to_value, count(*) AS requests
FROM classes AS c LEFT JOIN devices AS d ON c.device = d.device
GROUP BY c.device, c.operation, c.quantity, from_value, to_value;

-- Each I/O of a device with what is known of it: one row per completed request that moves bytes, flushes
-- or discards. A request completed in parts has a row for each part.
--   io                number of the row, from 1 on, in the order of arrival
--   device, device_name   the whole disk
--   operation         'read', 'write', 'discard', 'flush', ...
--   arrived_ns, completed_ns   arrival of its first bio, and completion (CLOCK_MONOTONIC)
--   latency_ns        from the one to the other
--   depth             I/O of the device in progress when it arrived, itself included
--   sector, bytes     first sector, and length
--   error             0 or a negative errno
--   is_flush, is_fua, is_metadata, is_read_ahead   flags: flushes the device's cache first; is on the medium when it
--                     completes; metadata or a journal; read in advance
--   is_direct         its bytes are not in the page cache
--   io_class, write_hint   as in block_queue; NULL: its bio is not in the trace
--   size_class        as in io_classes; NULL likewise
--   file, position    the file and the position of its first byte there; 0, NULL: none, or unknown
--   file_bytes        size of the file when it was queued; NULL: unknown
--   pid               the process that caused it, as in links; 0: unknown
CREATE VIEW device_ios AS
WITH
  asked AS (
    SELECT row_number() OVER (ORDER BY minus(ts_ns, queue_ns), device, sector) AS io, device, choice_text('block', flags) AS operation,
           minus(ts_ns, queue_ns) AS arrived_ns, plus(ts_ns, duration_ns) AS completed_ns, plus(queue_ns, duration_ns) AS latency_ns,
           sector, bytes, error, '|' || flags_text('block', flags) || '|' AS words, file
    FROM requests
  ),
  changes AS (
    SELECT io, device, arrived_ns AS at_ns, 1 AS change FROM asked
    UNION ALL
    SELECT io, device, completed_ns AS at_ns, -1 AS change FROM asked
  ),
  depths AS (
    SELECT io, change, sum(change) OVER (PARTITION BY device ORDER BY at_ns, change, io ROWS UNBOUNDED PRECEDING) AS depth FROM changes
  ),
  -- The range of a bio with which the request begins.
  firsts AS (
    SELECT device, device_position, completed_ns, min(ts_ns) AS queued_ns, arg_min(file, ts_ns) AS file, arg_min(position, ts_ns) AS position,
           arg_min(pid, ts_ns) AS pid
    FROM all_links
    WHERE completed_ns IS NOT NULL
    GROUP BY device, device_position, completed_ns
  ),
  bios AS (
    SELECT ts_ns, device, sector, plus(sector, bytes // 512) AS end_sector, io_class, write_hint, file_bytes, size_class_of(io_class, file_bytes) AS size_class
    FROM block_queue
  ),
  joined AS (
    SELECT a.*, f.queued_ns AS queued_ns, f.file AS first_file, f.position AS position, f.pid AS pid,
           b.io_class AS io_class, b.write_hint AS write_hint, b.file_bytes AS file_bytes, b.size_class AS size_class,
           row_number() OVER (PARTITION BY a.io ORDER BY b.sector DESC) AS nth
    FROM asked AS a
      LEFT JOIN firsts AS f ON a.device = f.device AND a.completed_ns = f.completed_ns AND f.device_position = CAST(a.sector AS HUGEINT) * 512
      LEFT JOIN bios AS b ON b.device = a.device AND b.ts_ns = f.queued_ns AND b.sector <= a.sector AND b.end_sector > a.sector
  )
SELECT j.io AS io, j.device AS device, d.name AS device_name, j.operation AS operation, j.arrived_ns AS arrived_ns, j.completed_ns AS completed_ns,
       j.latency_ns AS latency_ns, CAST(greatest(p.depth, 1) AS BIGINT) AS depth, j.sector AS sector, j.bytes AS bytes, j.error AS error,
       j.operation = 'flush' OR contains(j.words, '|preflush|') AS is_flush, contains(j.words, '|fua|') AS is_fua,
       contains(j.words, '|meta|') OR coalesce(j.io_class IN ('metadata', 'journal'), false) AS is_metadata,
       contains(j.words, '|readahead|') OR coalesce(j.io_class = 'read_ahead', false) AS is_read_ahead,
       coalesce(j.io_class = 'direct', false) AS is_direct, j.io_class AS io_class, j.write_hint AS write_hint, j.size_class AS size_class,
       coalesce(nullif(j.first_file, 0), j.file) AS file, j.position AS position, nullif(j.file_bytes, -1) AS file_bytes, coalesce(j.pid, 0) AS pid
FROM joined AS j
  JOIN depths AS p ON j.io = p.io AND p.change = 1
  LEFT JOIN devices AS d ON j.device = d.device
WHERE j.nth = 1;

-- How many I/O a device had in progress when another one arrived: one row per device, operation and class of
-- numbers, with the bounds of device_histograms.
--   device, device_name, operation   as in device_statistics
--   from_value, to_value   the smallest and the largest number of the class; the arriving I/O counts
--   ios               number of I/O that arrived with such a number
CREATE VIEW device_arrival_depths AS
WITH
  grouped AS (
    SELECT device, device_name, operation, CAST(depth AS UBIGINT) AS value FROM device_ios
    UNION ALL
    SELECT device, device_name, 'total' AS operation, CAST(depth AS UBIGINT) AS value FROM device_ios
  ),
  classes AS (SELECT *, class_width(value, 128) AS width FROM grouped)
SELECT device, any_value(device_name) AS device_name, operation, value // width * width AS from_value,
       plus(value // width * width, width - 1) AS to_value, count(*) AS ios
FROM classes
GROUP BY device, operation, from_value, to_value;

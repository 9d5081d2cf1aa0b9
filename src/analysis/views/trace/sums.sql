-- Results of `iotrail stat`, with names instead of keys: one row per set of equal events that ended
-- between two times. A trace of `record` has none.
--   from_ns, to_ns       they ended at or after the first time and before the second (CLOCK_MONOTONIC)
--   layer, event         names of the schema
--   operation, call      as in events; call: NULL if the event has none
--   pid, comm            process that was running, and the program that it ran last
--   file, path           key of files, and its path at first sight; NULL: a file without a name
--   device, device_name  the device of a block event; 0 and NULL: none
--   error                0 or a negative errno
--   is_others            1: the kernel's table was full, so process, file and device are unknown and 0
--   least_ns, below_ns   each took at least the first time and less than the second, which is at most a quarter
--                        larger; below_ns: 0 for events without a duration
--   events               number of events
--   bytes                sum of the bytes moved
--   duration_ns, max_ns  sum of the durations, and the longest
--   container            the container in which the process ran, by its full id or its name; NULL: none
CREATE VIEW sums AS
SELECT s.from_ns AS from_ns, s.to_ns AS to_ns, s.layer AS layer, s.event AS event, s.operation AS operation,
       nullif(s.call, '') AS call, s.pid AS pid, p.comm AS comm, s.file AS file, nullif(f.path, '') AS path,
       s.device AS device, d.name AS device_name, s.error AS error, s.is_others AS is_others,
       s.least_ns AS least_ns, s.below_ns AS below_ns, s.events AS events, s.bytes AS bytes,
       s.duration_ns AS duration_ns, s.max_ns AS max_ns, p.container AS container
FROM event_sums AS s
  LEFT JOIN programs AS p ON s.pid = p.program_pid
  LEFT JOIN files AS f ON nullif(s.file, 0) = f.file
  LEFT JOIN devices AS d ON nullif(s.device, 0) = d.device;

-- The sums by layer and operation: one row each.
--   layer, event, operation    as in sums
--   operations, errors, bytes  number of operations, of failed ones, and bytes moved
--   total_ns, mean_ns          durations; NULL: none
--   p50_ns, p99_ns             half of them, and 99 of 100, took at most this time; up to a quarter too large,
--                              because durations are counted in classes
--   max_ns                     the longest duration, exact
CREATE VIEW sum_operations AS
WITH
  classes AS (
    SELECT layer, event, operation, below_ns, total(events) AS events,
           total(CASE WHEN is_error(error) THEN events ELSE 0 END) AS errors, total(bytes) AS bytes,
           total(duration_ns) AS duration_ns, max(max_ns) AS max_ns
    FROM event_sums
    GROUP BY layer, event, operation, below_ns
  ),
  ranked AS (
    SELECT *, sum(events) OVER (PARTITION BY layer, event, operation ORDER BY below_ns) AS so_far,
           sum(events) OVER (PARTITION BY layer, event, operation) AS all_events
    FROM classes
  )
SELECT layer, event, operation, total(events) AS operations, total(errors) AS errors, total(bytes) AS bytes,
       CASE WHEN max(below_ns) > 0 THEN total(duration_ns) END AS total_ns,
       CASE WHEN max(below_ns) > 0 THEN CAST(round(least(sum(duration_ns) / nullif(sum(events), 0), 9e18)) AS BIGINT) END AS mean_ns,
       CASE WHEN max(below_ns) > 0
            THEN least(min(CASE WHEN so_far * 2 >= all_events THEN greatest(below_ns, 1) - 1 END), max(max_ns)) END AS p50_ns,
       CASE WHEN max(below_ns) > 0
            THEN least(min(CASE WHEN so_far * 100 >= all_events * 99 THEN greatest(below_ns, 1) - 1 END), max(max_ns)) END AS p99_ns,
       CASE WHEN max(below_ns) > 0 THEN max(max_ns) END AS max_ns
FROM ranked
GROUP BY layer, event, operation;

-- The layer at which `iotrail stat` counts files and processes: the uppermost selected layer with
-- durations. One row.
--   layer   its name; NULL: none
CREATE VIEW sum_layer AS
SELECT argMin(s.layer, d.depth) AS layer
FROM (SELECT DISTINCT layer FROM event_sums WHERE below_ns > 0) AS s JOIN layer_list AS d ON s.layer = d.layer;

-- The sums by file, for events with a duration: an I/O passes other events too, which would count it
-- again. Rows with is_others of 1 are excluded here and below. One row per layer and file.
--   layer, file, path                             as in sums
--   operations, errors, bytes, total_ns, max_ns   as in sum_operations
--   bytes_read, bytes_written                     part of `bytes` in operations that read or receive, and that write or send; a copy
--                                                 is read from its source, and has no row for its target
CREATE VIEW sum_files AS
SELECT layer, file, path, total(events) AS operations, total(CASE WHEN is_error(error) THEN events ELSE 0 END) AS errors,
       total(bytes) AS bytes, total(CASE WHEN takes_bytes(operation) THEN bytes ELSE 0 END) AS bytes_read,
       total(CASE WHEN gives_bytes(operation) AND NOT copies(operation) THEN bytes ELSE 0 END) AS bytes_written,
       total(duration_ns) AS total_ns, max(max_ns) AS max_ns
FROM sums
WHERE is_others = 0 AND below_ns > 0
GROUP BY layer, file, path;

-- The sums by process: one row per layer and process.
--   layer, pid, comm                              as in sums
--   operations, errors, bytes, total_ns, max_ns   as in sum_operations
--   bytes_read, bytes_written                     as in sum_files
--   container                                     as in sums
CREATE VIEW sum_processes AS
SELECT layer, pid, comm, total(events) AS operations, total(CASE WHEN is_error(error) THEN events ELSE 0 END) AS errors,
       total(bytes) AS bytes, total(CASE WHEN takes_bytes(operation) THEN bytes ELSE 0 END) AS bytes_read,
       total(CASE WHEN gives_bytes(operation) THEN bytes ELSE 0 END) AS bytes_written,
       total(duration_ns) AS total_ns, max(max_ns) AS max_ns, any_value(container) AS container
FROM sums
WHERE is_others = 0 AND below_ns > 0
GROUP BY layer, pid, comm;

-- The sums by device: one row per layer and device.
--   layer, device, device_name                    as in sums
--   operations, errors, bytes, total_ns, max_ns   as in sum_operations
--   bytes_read, bytes_written                     as in sum_files
CREATE VIEW sum_devices AS
SELECT layer, device, device_name, total(events) AS operations,
       total(CASE WHEN is_error(error) THEN events ELSE 0 END) AS errors, total(bytes) AS bytes,
       total(CASE WHEN operation LIKE 'read%' THEN bytes ELSE 0 END) AS bytes_read,
       total(CASE WHEN operation LIKE 'write%' THEN bytes ELSE 0 END) AS bytes_written,
       total(duration_ns) AS total_ns, max(max_ns) AS max_ns
FROM sums
WHERE is_others = 0 AND below_ns > 0 AND device <> 0
GROUP BY layer, device, device_name;

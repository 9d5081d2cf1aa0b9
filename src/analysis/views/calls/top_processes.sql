-- Processes by the I/O that they requested, counted at the same layer as in top_files: one row per
-- process.
--   pid, comm, command          the process, and the program that it ran last
--   layer                       the layer at which it is counted
--   threads                     number of its threads with I/O
--   operations, errors          number of spans, and of failed ones
--   bytes_read, bytes_written   bytes moved; a copy counts as both
--   syncs                       number of calls that asked for data to reach the device
--   total_ns                    sum of the durations of all threads; NULL: no calls
--   device_bytes_read, device_bytes_written   bytes that devices moved for its operations; NULL: the block layer was not
--                                             recorded. Write-back by the kernel counts for pid 0
--   container                   the container in which it ran, by its full id or its name; NULL: none
CREATE VIEW top_processes AS
WITH
  tasks AS (
    SELECT layer, pid, tid, class, count(*) AS operations, sum(bytes) AS bytes,
           sum(CASE WHEN is_error(error) THEN 1 ELSE 0 END) AS errors, sum(duration_ns) AS total_ns
    FROM events
    WHERE duration_ns IS NOT NULL
    GROUP BY layer, pid, tid, class
  ),
  sums AS (
    SELECT pid, count(DISTINCT tid) AS threads,
           total(operations) AS operations, total(errors) AS errors,
           total(CASE WHEN reads(class) THEN bytes ELSE 0 END) AS bytes_read,
           total(CASE WHEN writes(class) THEN bytes ELSE 0 END) AS bytes_written,
           total(CASE WHEN is_sync(class) THEN operations ELSE 0 END) AS syncs,
           total(total_ns) AS total_ns
    FROM tasks
    WHERE layer IN (SELECT asked_layer FROM asked_layers)
    GROUP BY pid
  ),
  below AS (
    SELECT coalesce(program_pid, 0) AS below_pid,
           total(CASE WHEN reads(class) THEN bytes ELSE 0 END) AS device_bytes_read,
           total(CASE WHEN writes(class) THEN bytes ELSE 0 END) AS device_bytes_written
    FROM tasks LEFT JOIN programs ON pid = program_pid
    WHERE layer = layer_at('devices')
    GROUP BY coalesce(program_pid, 0)
  ),
  present AS (SELECT count(*) > 0 AS has_devices FROM tables WHERE layer = layer_at('devices') AND row_count > 0),
  moved AS (
    SELECT coalesce(pid, below_pid) AS moved_pid, *
    FROM sums FULL JOIN below ON pid = below_pid
  )
SELECT m.moved_pid AS pid, CASE m.moved_pid WHEN 0 THEN '(kernel)' ELSE p.comm END AS comm, p.command AS command,
       s.seen_layer AS layer, coalesce(m.threads, 0) AS threads, coalesce(m.operations, 0) AS operations,
       coalesce(m.errors, 0) AS errors, coalesce(m.bytes_read, 0) AS bytes_read,
       coalesce(m.bytes_written, 0) AS bytes_written, coalesce(m.syncs, 0) AS syncs, m.total_ns AS total_ns,
       CASE WHEN has_devices THEN coalesce(m.device_bytes_read, 0) END AS device_bytes_read,
       CASE WHEN has_devices THEN coalesce(m.device_bytes_written, 0) END AS device_bytes_written,
       p.container AS container
FROM moved AS m
  CROSS JOIN call_layer AS s
  CROSS JOIN present
  LEFT JOIN programs AS p ON m.moved_pid = p.program_pid;

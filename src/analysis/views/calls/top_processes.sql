-- Processes by the I/O that they requested, counted at the same layer as in top_files: one row per
-- process.
--   pid, comm, command          the process, and the program that it ran last
--   layer                       the layer at which it is counted
--   threads                     number of its threads with I/O
--   operations, errors          number of spans, and of failed ones
--   bytes_read, bytes_written   bytes moved, also by sending and receiving; a copy counts as both
--   syncs                       number of calls that asked for data to be safe on the device; not sync_file_range
--   total_ns                    sum of the durations of all threads; NULL: no calls
--   device_bytes_read, device_bytes_written   bytes that devices moved because of it, as in links, whichever task
--                                             submitted them; for pid 0, those of no known process. If the trace
--                                             has no bios (block_queue), the submitted bytes. NULL: the block
--                                             layer was not recorded
--   submitted_bytes_read, submitted_bytes_written   bytes of the requests that it submitted, also for other processes
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
           total(CASE WHEN takes_bytes(class) THEN bytes ELSE 0 END) AS bytes_read,
           total(CASE WHEN gives_bytes(class) THEN bytes ELSE 0 END) AS bytes_written,
           total(CASE WHEN makes_durable(class) THEN operations ELSE 0 END) AS syncs,
           total(total_ns) AS total_ns
    FROM tasks
    WHERE is_asked(layer)
    GROUP BY pid
  ),
  submitted AS (
    SELECT pid AS submitter, total(CASE WHEN reads(class) THEN bytes ELSE 0 END) AS submitted_bytes_read,
           total(CASE WHEN writes(class) THEN bytes ELSE 0 END) AS submitted_bytes_written
    FROM tasks
    WHERE layer = layer_at('devices')
    GROUP BY pid
  ),
  bios AS (SELECT count(*) > 0 AS has_bios FROM tables WHERE name = 'block_queue' AND row_count > 0),
  caused AS (
    SELECT pid AS causer, total(CASE WHEN reads(direction) THEN bytes ELSE 0 END) AS device_bytes_read,
           total(CASE WHEN writes(direction) THEN bytes ELSE 0 END) AS device_bytes_written
    FROM links
    WHERE completed_ns IS NOT NULL AND (SELECT has_bios FROM bios)
    GROUP BY pid
    UNION ALL
    SELECT submitter AS causer, submitted_bytes_read AS device_bytes_read, submitted_bytes_written AS device_bytes_written
    FROM submitted
    WHERE NOT (SELECT has_bios FROM bios)
  ),
  -- Only processes have a row: the kernel's threads that submit for others may be none.
  below AS (
    SELECT coalesce(program_pid, 0) AS below_pid, total(device_bytes_read) AS device_bytes_read, total(device_bytes_written) AS device_bytes_written,
           total(submitted_bytes_read) AS submitted_bytes_read, total(submitted_bytes_written) AS submitted_bytes_written
    FROM caused FULL JOIN submitted ON causer = submitter LEFT JOIN programs ON coalesce(causer, submitter) = program_pid
    GROUP BY coalesce(program_pid, 0)
  ),
  present AS (SELECT count(*) > 0 AS has_devices FROM tables WHERE layer = layer_at('devices') AND row_count > 0),
  moved AS (
    SELECT coalesce(pid, below_pid) AS moved_pid, *
    FROM sums FULL JOIN below ON pid = below_pid
  )
SELECT m.moved_pid AS pid, CASE m.moved_pid WHEN 0 THEN '(unknown)' ELSE p.comm END AS comm, p.command AS command,
       s.seen_layer AS layer, coalesce(m.threads, 0) AS threads, coalesce(m.operations, 0) AS operations,
       coalesce(m.errors, 0) AS errors, coalesce(m.bytes_read, 0) AS bytes_read,
       coalesce(m.bytes_written, 0) AS bytes_written, coalesce(m.syncs, 0) AS syncs, m.total_ns AS total_ns,
       CASE WHEN has_devices THEN coalesce(m.device_bytes_read, 0) END AS device_bytes_read,
       CASE WHEN has_devices THEN coalesce(m.device_bytes_written, 0) END AS device_bytes_written,
       CASE WHEN has_devices THEN coalesce(m.submitted_bytes_read, 0) END AS submitted_bytes_read,
       CASE WHEN has_devices THEN coalesce(m.submitted_bytes_written, 0) END AS submitted_bytes_written,
       p.container AS container
FROM moved AS m
  CROSS JOIN call_layer AS s
  CROSS JOIN present
  LEFT JOIN programs AS p ON m.moved_pid = p.program_pid;

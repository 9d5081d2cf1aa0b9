-- Processes by the I/O they asked for, seen at the same layer as in top_files.
--   pid, comm, command          the process and the program that it ran last
--   layer                       where it was seen
--   threads                     threads that did any I/O
--   operations, errors          spans, and those that failed
--   bytes_read, bytes_written   bytes moved; a copy counts for both
--   syncs                       calls that asked for data to reach the device
--   total_ns                    sum of durations, of all threads
CREATE VIEW top_processes AS
WITH
  seen AS (
    SELECT CASE min(CASE layer WHEN 'syscall' THEN 1 WHEN 'app' THEN 2 ELSE 3 END)
             WHEN 1 THEN 'syscall' WHEN 2 THEN 'app' ELSE 'vfs' END AS seen_layer
    FROM tables
    WHERE layer IN ('syscall', 'app', 'vfs') AND row_count > 0
  ),
  tasks AS (
    SELECT layer, pid, tid, class, count(*) AS operations, sum(bytes) AS bytes,
           sum(CASE WHEN error < 0 THEN 1 ELSE 0 END) AS errors, sum(duration_ns) AS total_ns
    FROM events
    WHERE duration_ns IS NOT NULL
    GROUP BY layer, pid, tid, class
  ),
  sums AS (
    SELECT layer, pid, count(DISTINCT tid) AS threads,
           CAST(sum(operations) AS BIGINT) AS operations, CAST(sum(errors) AS BIGINT) AS errors,
           CAST(sum(CASE WHEN class IN ('read', 'copy') THEN bytes ELSE 0 END) AS BIGINT) AS bytes_read,
           CAST(sum(CASE WHEN class IN ('write', 'copy') THEN bytes ELSE 0 END) AS BIGINT) AS bytes_written,
           CAST(sum(CASE WHEN class IN ('sync', 'fsync', 'msync') THEN operations ELSE 0 END) AS BIGINT) AS syncs,
           CAST(sum(total_ns) AS BIGINT) AS total_ns
    FROM tasks
    WHERE layer IN (SELECT seen_layer FROM seen)
    GROUP BY layer, pid
  ),
  programs AS (
    SELECT pid AS program_pid, argMax(comm, since_ns) AS comm, argMax(command, since_ns) AS command
    FROM processes
    GROUP BY pid
  )
SELECT s.pid AS pid, p.comm AS comm, p.command AS command, s.layer AS layer, s.threads AS threads,
       s.operations AS operations, s.errors AS errors, s.bytes_read AS bytes_read,
       s.bytes_written AS bytes_written, s.syncs AS syncs, s.total_ns AS total_ns
FROM sums AS s LEFT JOIN programs AS p ON s.pid = p.program_pid;

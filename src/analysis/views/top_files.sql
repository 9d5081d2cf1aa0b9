-- Files by what was done with them, seen where programs meet the kernel: at the system calls where the trace has any,
-- else at the calls into the C library, else at the virtual file system.
--   file, path                          key of files and its path; file 0: what no file is known for
--   layer                               where it was seen
--   operations, errors                  spans on the file, and those that failed
--   bytes_read, bytes_written           bytes moved; a copy reads one file and writes the other
--   syncs                               calls that asked for data to reach the device
--   total_ns                            sum of durations
--   device_bytes_read, device_bytes_written   bytes that devices moved for pages of the file; NULL: no block layer
CREATE VIEW top_files AS
WITH
  seen AS (
    SELECT CASE min(CASE layer WHEN 'syscall' THEN 1 WHEN 'app' THEN 2 ELSE 3 END)
             WHEN 1 THEN 'syscall' WHEN 2 THEN 'app' ELSE 'vfs' END AS seen_layer
    FROM tables
    WHERE layer IN ('syscall', 'app', 'vfs') AND row_count > 0
  ),
  flows AS (
    SELECT layer, class, file, to_file, count(*) AS operations, sum(bytes) AS bytes,
           sum(CASE WHEN error < 0 THEN 1 ELSE 0 END) AS errors, sum(duration_ns) AS total_ns
    FROM events
    WHERE duration_ns IS NOT NULL
    GROUP BY layer, class, file, to_file
  ),
  sides AS (
    SELECT layer, class, file, operations, errors, total_ns,
           CASE WHEN class IN ('read', 'copy') THEN bytes ELSE 0 END AS bytes_read,
           CASE WHEN class = 'write' THEN bytes ELSE 0 END AS bytes_written
    FROM flows
    UNION ALL
    SELECT layer, class, to_file AS file, operations, errors, total_ns, 0 AS bytes_read, bytes AS bytes_written
    FROM flows WHERE class = 'copy'
  ),
  calls AS (
    SELECT layer, file, CAST(sum(operations) AS BIGINT) AS operations, CAST(sum(errors) AS BIGINT) AS errors,
           CAST(sum(bytes_read) AS BIGINT) AS bytes_read, CAST(sum(bytes_written) AS BIGINT) AS bytes_written,
           CAST(sum(CASE WHEN class IN ('sync', 'fsync', 'msync') THEN operations ELSE 0 END) AS BIGINT) AS syncs,
           CAST(sum(total_ns) AS BIGINT) AS total_ns
    FROM sides
    WHERE layer IN (SELECT seen_layer FROM seen)
    GROUP BY layer, file
  ),
  devices AS (
    SELECT file AS device_file, CAST(sum(CASE WHEN class = 'read' THEN bytes ELSE 0 END) AS BIGINT) AS bytes_read,
           CAST(sum(CASE WHEN class = 'write' THEN bytes ELSE 0 END) AS BIGINT) AS bytes_written
    FROM flows
    WHERE layer = 'block'
    GROUP BY file
  )
SELECT c.file AS file, f.path AS path, c.layer AS layer, c.operations AS operations, c.errors AS errors,
       c.bytes_read AS bytes_read, c.bytes_written AS bytes_written, c.syncs AS syncs, c.total_ns AS total_ns,
       d.bytes_read AS device_bytes_read, d.bytes_written AS device_bytes_written
FROM calls AS c
  LEFT JOIN devices AS d ON c.file = d.device_file
  LEFT JOIN files AS f ON c.file = f.file;

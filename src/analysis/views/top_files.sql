-- Files by what was done with them, seen where programs meet the kernel: at the system calls where the trace has any,
-- else at the calls into the C library, else at the virtual file system.
--   file, path                          key of files and its path; file 0: what no file is known for
-- Files are here as well whose bytes moved below that layer only: by io_uring or libaio, or through mappings.
--   layer                               where it was seen, the same in all rows; NULL: none of these was recorded
--   operations, errors                  spans on the file, and those that failed
--   bytes_read, bytes_written           bytes moved by calls; a copy reads one file and writes the other
--   syncs                               calls that asked for data to reach the device
--   total_ns                            sum of durations; NULL: no calls
--   device_bytes_read, device_bytes_written   bytes that devices moved for pages of the file; NULL: none was seen
--   cache_bytes_added, cache_bytes_dirtied    whole pages of the file brought into the page cache, and those that became
--                                             dirty; NULL: none was seen
CREATE VIEW top_files AS
WITH
  seen AS (
    SELECT CASE min(CASE layer WHEN 'syscall' THEN 1 WHEN 'app' THEN 2 ELSE 3 END)
             WHEN 1 THEN 'syscall' WHEN 2 THEN 'app' WHEN 3 THEN 'vfs' ELSE NULL END AS seen_layer
    FROM tables
    WHERE layer IN ('syscall', 'app', 'vfs') AND row_count > 0
  ),
  flows AS (
    SELECT layer, class, file, to_file, count(*) AS operations, sum(bytes) AS bytes,
           sum(CASE WHEN error < 0 THEN 1 ELSE 0 END) AS errors, sum(duration_ns) AS total_ns
    FROM events
    WHERE duration_ns IS NOT NULL OR event IN ('cache_add', 'cache_dirty')
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
    SELECT file AS call_file, CAST(sum(operations) AS BIGINT) AS operations, CAST(sum(errors) AS BIGINT) AS errors,
           CAST(sum(bytes_read) AS BIGINT) AS bytes_read, CAST(sum(bytes_written) AS BIGINT) AS bytes_written,
           CAST(sum(CASE WHEN class IN ('sync', 'fsync', 'msync') THEN operations ELSE 0 END) AS BIGINT) AS syncs,
           CAST(sum(total_ns) AS BIGINT) AS total_ns
    FROM sides
    WHERE layer IN (SELECT seen_layer FROM seen)
    GROUP BY file
  ),
  below AS (
    SELECT file AS below_file,
           CAST(sum(CASE layer WHEN 'block' THEN CASE class WHEN 'read' THEN bytes ELSE 0 END END) AS BIGINT)
             AS device_bytes_read,
           CAST(sum(CASE layer WHEN 'block' THEN CASE class WHEN 'write' THEN bytes ELSE 0 END END) AS BIGINT)
             AS device_bytes_written,
           CAST(sum(CASE layer WHEN 'cache' THEN CASE class WHEN 'add' THEN bytes ELSE 0 END END) AS BIGINT)
             AS cache_bytes_added,
           CAST(sum(CASE layer WHEN 'cache' THEN CASE class WHEN 'dirty' THEN bytes ELSE 0 END END) AS BIGINT)
             AS cache_bytes_dirtied
    FROM flows
    WHERE layer IN ('block', 'cache')
    GROUP BY file
  ),
  moved AS (
    SELECT coalesce(call_file, below_file) AS moved_file, *
    FROM calls FULL JOIN below ON call_file = below_file
  )
SELECT m.moved_file AS file, f.path AS path, s.seen_layer AS layer, coalesce(m.operations, 0) AS operations,
       coalesce(m.errors, 0) AS errors, coalesce(m.bytes_read, 0) AS bytes_read,
       coalesce(m.bytes_written, 0) AS bytes_written, coalesce(m.syncs, 0) AS syncs, m.total_ns AS total_ns,
       m.device_bytes_read AS device_bytes_read, m.device_bytes_written AS device_bytes_written,
       m.cache_bytes_added AS cache_bytes_added, m.cache_bytes_dirtied AS cache_bytes_dirtied
FROM moved AS m
  CROSS JOIN seen AS s
  LEFT JOIN files AS f ON m.moved_file = f.file;

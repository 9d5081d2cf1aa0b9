-- The use of read-ahead: one row per file, for bytes that arrived. Loads from mapped memory are not
-- seen, so a mapped file seems to use less.
--   file, path    key of the file, and its last name
--   asked         bytes that the operation asked for
--   ahead         bytes that it read in addition
--   used          part of `ahead` that a later call read
--   unused        the rest of `ahead`: wasted, or needed after the recording
--   late          part of `used` that had not arrived when the call began
--   late_ns       how long such calls waited for them
CREATE VIEW read_ahead AS
SELECT l.file AS file, n.path AS path,
       total(CASE l.cause WHEN 'read' THEN l.bytes ELSE 0 END) AS asked,
       total(CASE l.cause WHEN 'read_ahead' THEN l.bytes ELSE 0 END) AS ahead,
       total(l.used_bytes) AS used,
       total(CASE l.cause WHEN 'read_ahead' THEN minus(l.bytes, l.used_bytes) ELSE 0 END) AS unused,
       total(l.late_bytes) AS late, total(l.late_ns) AS late_ns
FROM links AS l LEFT JOIN file_names AS n ON l.file = n.file
WHERE l.cause IN ('read', 'read_ahead') AND l.completed_ns IS NOT NULL
GROUP BY l.file, n.path;

-- The same by operation: one row per operation and file.
--   op_id, pid    the operation and its process
--   file          key of the file
--   asked, ahead, used, unused, late, late_ns   as in read_ahead; used and late count reads by any process
CREATE VIEW read_ahead_ops AS
SELECT op_id, pid, file,
       total(CASE cause WHEN 'read' THEN bytes ELSE 0 END) AS asked,
       total(CASE cause WHEN 'read_ahead' THEN bytes ELSE 0 END) AS ahead,
       total(used_bytes) AS used,
       total(CASE cause WHEN 'read_ahead' THEN minus(bytes, used_bytes) ELSE 0 END) AS unused,
       total(late_bytes) AS late, total(late_ns) AS late_ns
FROM links
WHERE cause IN ('read', 'read_ahead') AND completed_ns IS NOT NULL AND op_id <> 0
GROUP BY op_id, pid, file
HAVING sum(CASE cause WHEN 'read_ahead' THEN 1 ELSE 0 END) > 0;

-- Calls for which read-ahead was too late: one row per call that began before its bytes arrived.
-- Another operation had already requested them from a device. It covers the whole trace.
--   op_id, pid, file   the call, its process, and the file
--   by_op         the operation with the read-ahead that arrived last
--   bytes         bytes that the call needed and that had not arrived at its begin
--   late_ns       until all arrived: from the call's begin, or from the request to the device if that was later
CREATE VIEW late_reads AS
SELECT op_id, pid, file, by_op, bytes, late_ns FROM found_late_reads();

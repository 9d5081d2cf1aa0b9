-- How much of what was read ahead, and came, was of use, by file. Loads from mapped memory are not seen, so that a file that is mapped
-- seems to use less.
--   file, path    key of the file, and its last name
--   asked         bytes that the operation that brought them in had asked for
--   ahead         bytes that it brought in besides
--   used          of them, read by a call later
--   unused        of them, not: wasted, or wanted after the recording
--   late          of those used, the bytes that were not there yet when the call that used them began
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

-- The same by the operation that brought the bytes in: what its read-ahead was good for.
--   op_id, pid    the operation and its process
--   file          key of the file
--   asked, ahead, used, unused, late, late_ns   as in read_ahead; used and late: by whomever
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

-- The calls that read-ahead came too late for: each that began before what it wanted was there, although another had asked
-- a device for it. Of the whole trace.
--   op_id, pid, file   the call, its process, and the file
--   by_op         the operation that had read ahead what came last
--   bytes         that the call wanted and that were not there when it began
--   late_ns       from its begin, or where that was later from when they were asked of the device, until all were there
CREATE VIEW late_reads AS
SELECT op_id, pid, file, by_op, bytes, late_ns FROM found_late_reads();

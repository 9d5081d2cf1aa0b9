-- The use of read-ahead: one row per file, for bytes that arrived. Loads from mapped memory are not
-- seen, so a mapped file seems to use less. Bytes are those of the file: of compressed files, the device moved
-- fewer.
--   file, path    key of the file, and its last name
--   asked         bytes that the operation asked for
--   ahead         bytes that it read in addition
--   used          part of `ahead` that a later call read
--   unused        the rest of `ahead`: wasted, or needed after the recording
--   late          part of `used` that had not arrived when the call began
--   late_ns       how long such calls waited for them
--   mapped        bytes read because mapped memory was touched: the touched pages and what the kernel read
--                 around them
--   touched       part of `mapped` in pages with a recorded fault: the rest was read around them; NULL: the layer
--                 fault was not recorded
CREATE VIEW read_ahead AS
WITH
  arrived AS (
    SELECT file,
           total(CASE WHEN cause IN ('read', 'compressed') THEN coalesce(plain_bytes, bytes) ELSE 0 END) AS asked,
           total(CASE cause WHEN 'read_ahead' THEN coalesce(plain_bytes, bytes) ELSE 0 END) AS ahead,
           total(used_bytes) AS used,
           total(CASE cause WHEN 'read_ahead' THEN minus(coalesce(plain_bytes, bytes), used_bytes) ELSE 0 END) AS unused,
           total(late_bytes) AS late, total(late_ns) AS late_ns,
           total(CASE cause WHEN 'mapped_read' THEN coalesce(plain_bytes, bytes) ELSE 0 END) AS mapped
    FROM links
    WHERE direction = 'read' AND cause IN ('read', 'compressed', 'read_ahead', 'mapped_read') AND completed_ns IS NOT NULL
    GROUP BY file
  ),
  -- Pages that were touched, and the range read for them.
  faulted AS (
    SELECT file, position AS page_begin FROM fault_file WHERE position IS NOT NULL
    UNION
    SELECT file, bytes_of_pages(first_page) AS page_begin FROM fault_page
  ),
  ranges AS (
    SELECT file, position, coalesce(plain_bytes, bytes) AS bytes FROM links
    WHERE cause = 'mapped_read' AND completed_ns IS NOT NULL AND position IS NOT NULL
  ),
  touches AS (
    SELECT f.file AS touched_file, bytes_of_pages(count(*)) AS touched
    FROM faulted AS f ASOF JOIN ranges AS r ON f.file = r.file AND CAST(f.page_begin AS UBIGINT) >= r.position
    WHERE minus(f.page_begin, r.position) < r.bytes
    GROUP BY f.file
  ),
  faults AS (SELECT count(*) > 0 AS has_faults FROM tables WHERE name IN ('fault_file', 'fault_page') AND row_count > 0)
SELECT a.file AS file, n.path AS path, a.asked AS asked, a.ahead AS ahead, a.used AS used, a.unused AS unused,
       a.late AS late, a.late_ns AS late_ns, a.mapped AS mapped,
       CASE WHEN has_faults THEN coalesce(t.touched, 0) END AS touched
FROM arrived AS a CROSS JOIN faults
  LEFT JOIN touches AS t ON a.file = t.touched_file
  LEFT JOIN file_names AS n ON a.file = n.file;

-- The same by operation: one row per operation and file.
--   op_id, pid    the operation and its process
--   file          key of the file
--   asked, ahead, used, unused, late, late_ns   as in read_ahead; used and late count reads by any process
CREATE VIEW read_ahead_ops AS
SELECT op_id, pid, file,
       total(CASE WHEN cause IN ('read', 'compressed') THEN coalesce(plain_bytes, bytes) ELSE 0 END) AS asked,
       total(CASE cause WHEN 'read_ahead' THEN coalesce(plain_bytes, bytes) ELSE 0 END) AS ahead,
       total(used_bytes) AS used,
       total(CASE cause WHEN 'read_ahead' THEN minus(coalesce(plain_bytes, bytes), used_bytes) ELSE 0 END) AS unused,
       total(late_bytes) AS late, total(late_ns) AS late_ns
FROM links
WHERE direction = 'read' AND cause IN ('read', 'compressed', 'read_ahead') AND completed_ns IS NOT NULL AND op_id <> 0
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

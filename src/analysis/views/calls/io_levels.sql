-- Reads and writes at each level below the C library: one row per access.
--   level            'call' a system call; 'vfs'; 'pages' the page cache found, added or dirtied pages;
--                    'request' of a device; 'command' to a SCSI or NVMe device
--   is_read          true: it reads; false: it writes
--   begin_ns         when it entered the level (CLOCK_MONOTONIC); for a request, when its first bio arrived
--   end_ns           when it left; NULL: it has no end
--   op_id, pid, tid  as in events
--   file             key of files, 0: none or unknown; of a request without pages of a file, as of direct I/O,
--                    the file of its call
--   device           the disk of a request or a command; 0: others
--   address          the first byte in the file; for requests and commands the first sector; NULL: none, as
--                    in a pipe
--   bytes_requested  bytes asked for
--   bytes            bytes moved; NULL: it failed or did not end
CREATE VIEW io_levels AS
WITH
  calls AS (
    SELECT 'call' AS level, true AS is_read, ts_ns, duration_ns, op_id, pid, tid, file, position, bytes_requested, result FROM syscall_read
    UNION ALL SELECT 'call', false, ts_ns, duration_ns, op_id, pid, tid, file, position, bytes_requested, result FROM syscall_write
    UNION ALL SELECT 'vfs', true, ts_ns, duration_ns, op_id, pid, tid, file, position, bytes_requested, result FROM vfs_read
    UNION ALL SELECT 'vfs', false, ts_ns, duration_ns, op_id, pid, tid, file, position, bytes_requested, result FROM vfs_write
  ),
  page_ranges AS (
    SELECT true AS is_read, ts_ns, op_id, pid, tid, file, first_page, CAST(pages AS UBIGINT) * 4096 AS bytes FROM cache_hit
    UNION ALL SELECT true, ts_ns, op_id, pid, tid, file, first_page, CAST(pages AS UBIGINT) * 4096 FROM cache_add
    UNION ALL SELECT false, ts_ns, op_id, pid, tid, file, first_page, CAST(pages AS UBIGINT) * 4096 FROM cache_dirty
  ),
  -- One row per number: in a forged trace, thousands of operations may share one.
  op_files AS (
    SELECT op_id, max(file) AS file
    FROM (SELECT op_id, file FROM calls UNION ALL SELECT op_id, file FROM async_operation)
    WHERE op_id <> 0 AND file <> 0
    GROUP BY op_id
  ),
  device_work AS (
    SELECT 'request' AS level, choice_text('block', flags) AS operation, minus(ts_ns, queue_ns) AS begin_ns, plus(ts_ns, duration_ns) AS end_ns,
           op_id, pid, tid, file, device, sector, bytes, error <> 0 AS is_failed,
           contains('|' || flags_text('block', flags) || '|', '|meta|') AS is_metadata
    FROM block_complete
    UNION ALL
    SELECT 'command', choice_text('block', flags), ts_ns, plus(ts_ns, duration_ns), op_id, pid, tid, 0, device, sector, bytes,
           outcome <> 'done' OR status <> 'GOOD', false
    FROM device_scsi
    UNION ALL
    SELECT 'command', choice_text('block', flags), ts_ns, plus(ts_ns, duration_ns), op_id, pid, tid, 0, device, sector, bytes, status <> 'success', false
    FROM device_nvme
  )
SELECT level, is_read, ts_ns AS begin_ns, CASE WHEN NOT is_unfinished(result) THEN plus(ts_ns, duration_ns) END AS end_ns, op_id, pid, tid, file,
       0 AS device, CASE WHEN position >= 0 THEN CAST(position AS UBIGINT) END AS address, bytes_requested,
       CASE WHEN result >= 0 THEN CAST(result AS UBIGINT) END AS bytes
FROM calls
UNION ALL
SELECT 'pages', is_read, ts_ns, NULL, op_id, pid, tid, file, 0, CASE WHEN first_page < 4503599627370496 THEN first_page * 4096 END, bytes, bytes
FROM page_ranges
UNION ALL
SELECT w.level, reads(w.operation), w.begin_ns, w.end_ns, w.op_id, w.pid, w.tid,
       CASE WHEN w.file <> 0 OR w.is_metadata THEN w.file ELSE coalesce(o.file, 0) END, w.device, w.sector, w.bytes,
       CASE WHEN NOT w.is_failed THEN w.bytes END
FROM device_work AS w LEFT JOIN op_files AS o ON w.op_id = o.op_id
WHERE moves_bytes(w.operation);

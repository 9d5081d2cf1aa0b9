-- Accesses of files at known positions: one row per call that moved bytes, in each recorded layer, two
-- for a copy between files, and one per bio with bytes of a file. Loads and stores of mapped files are no calls, and missing.
-- The table file_accesses has the selected rows.
--   layer             layer of the access: of calls, of asynchronous operations, vfs, or block
--   op_id, pid, tid, ts_ns   as in events
--   until_ns          its end; for a bio, the time at which it was queued
--   file              key of files
--   device            for a bio, the whole disk; 0: a call
--   is_read           true: it read; false: it wrote
--   position, bytes   first byte and length, in the file; for a bio, on the disk
CREATE VIEW all_file_accesses AS
WITH
  async_classes AS (SELECT DISTINCT call, reads(class) AS is_read FROM all_events WHERE event = 'async_operation' AND moves_bytes(class)),
  calls AS (
    SELECT layer_at('library') AS layer, op_id, pid, tid, ts_ns, duration_ns, file, true AS is_read, position, result AS bytes FROM app_read
    UNION ALL
    SELECT layer_at('library') AS layer, op_id, pid, tid, ts_ns, duration_ns, file, false AS is_read, position, result AS bytes FROM app_write
    UNION ALL
    SELECT layer_at('kernel') AS layer, op_id, pid, tid, ts_ns, duration_ns, file, true AS is_read, position, result AS bytes FROM syscall_read
    UNION ALL
    SELECT layer_at('kernel') AS layer, op_id, pid, tid, ts_ns, duration_ns, file, false AS is_read, position, result AS bytes FROM syscall_write
    UNION ALL
    SELECT layer_at('kernel') AS layer, op_id, pid, tid, ts_ns, duration_ns, in_file AS file, true AS is_read, in_position AS position, result AS bytes FROM syscall_copy
    UNION ALL
    SELECT layer_at('kernel') AS layer, op_id, pid, tid, ts_ns, duration_ns, out_file AS file, false AS is_read, out_position AS position, result AS bytes FROM syscall_copy
    UNION ALL
    SELECT layer_at('files') AS layer, op_id, pid, tid, ts_ns, duration_ns, file, true AS is_read, position, result AS bytes FROM vfs_read
    UNION ALL
    SELECT layer_at('files') AS layer, op_id, pid, tid, ts_ns, duration_ns, file, false AS is_read, position, result AS bytes FROM vfs_write
    UNION ALL
    SELECT layer_at('later') AS layer, a.op_id, a.pid, a.tid, a.ts_ns, a.duration_ns, a.file, c.is_read, a.position,
           CAST(least(a.bytes, 9223372036854775807) AS BIGINT) AS bytes
    FROM async_operation AS a JOIN async_classes AS c ON a.call = c.call
  )
SELECT layer, op_id, pid, tid, ts_ns, plus(ts_ns, duration_ns) AS until_ns, file, CAST(0 AS UINTEGER) AS device, is_read,
       CAST(greatest(position, 0) AS UBIGINT) AS position, CAST(greatest(bytes, 0) AS UBIGINT) AS bytes
FROM calls
WHERE bytes > 0 AND position >= 0 AND file <> 0 AND file NOT IN (SELECT file FROM files_without_device)
UNION ALL
SELECT layer_at('devices') AS layer, op_id, pid, tid, ts_ns, ts_ns AS until_ns, file, device, choice_text('block', flags) = 'read' AS is_read,
       CAST(least(CAST(sector AS HUGEINT) * 512, 18446744073709551615) AS UBIGINT) AS position, CAST(bytes AS UBIGINT) AS bytes
FROM block_queue
WHERE bytes > 0 AND file <> 0 AND choice_text('block', flags) IN ('read', 'write') AND file NOT IN (SELECT file FROM disk_caches);

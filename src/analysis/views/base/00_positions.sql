-- Where in a file calls and asynchronous operations began: one row per operation with a known
-- position. Copies between files have two, and are missing.
--   layer, op_id, ts_ns   as in events
--   position              in bytes
CREATE VIEW call_positions AS
SELECT layer_at('kernel') AS layer, op_id, ts_ns, CAST(position AS UBIGINT) AS position FROM syscall_read WHERE position >= 0
UNION ALL
SELECT layer_at('kernel'), op_id, ts_ns, CAST(position AS UBIGINT) FROM syscall_write WHERE position >= 0
UNION ALL
SELECT layer_at('later'), op_id, ts_ns, CAST(position AS UBIGINT) FROM async_operation WHERE position >= 0
UNION ALL
SELECT layer_at('library'), op_id, ts_ns, CAST(position AS UBIGINT) FROM app_read WHERE position >= 0
UNION ALL
SELECT layer_at('library'), op_id, ts_ns, CAST(position AS UBIGINT) FROM app_write WHERE position >= 0
UNION ALL
SELECT layer_at('files'), op_id, ts_ns, CAST(position AS UBIGINT) FROM vfs_read WHERE position >= 0
UNION ALL
SELECT layer_at('files'), op_id, ts_ns, CAST(position AS UBIGINT) FROM vfs_write WHERE position >= 0;

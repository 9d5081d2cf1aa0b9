-- id: F26
-- title: the same bytes written to the disk again
-- shown: byte_balance
-- severity: note
-- needs: syscall_write, block
-- limit: bytes = 16777216; less written to the disk is no finding
-- limit: times = 3; fewer writings of each byte are no finding
-- sentence: The disk wrote {bytes} for {distinct_bytes} of {subject}: {times_ratio}.
-- advice: Sync less often, so that several changes of a page go to the disk together. With O_DIRECT, collect them in the program.
WITH
  places AS (
    SELECT file, total(result) AS written, union_length(CAST(position AS UBIGINT), plus(position, result)) AS distinct_bytes, arg_max(op_id, duration_ns) AS op_id
    FROM syscall_write
    WHERE result > 0 AND position >= 0
    GROUP BY file
  ),
  -- Past the cache, each byte of a call goes to the disk.
  direct AS (
    SELECT file, total(result) AS bytes
    FROM syscall_write SEMI JOIN (SELECT op_id FROM links WHERE direction = 'write' AND cause = 'direct' AND error = 0) USING (op_id)
    WHERE result > 0 AND position >= 0
    GROUP BY file
  ),
  fates AS (SELECT file, total(to_device) AS bytes, total(written) AS written FROM write_fates GROUP BY file),
  -- Other ways to write, as io_uring and mappings, have no places.
  sums AS (
    SELECT p.file AS file, p.distinct_bytes AS distinct_bytes, coalesce(f.bytes, 0) + coalesce(d.bytes, 0) AS bytes, p.op_id AS op_id
    FROM places AS p LEFT JOIN fates AS f ON p.file = f.file LEFT JOIN direct AS d ON p.file = d.file
    WHERE coalesce(f.written, 0) + coalesce(d.bytes, 0) <= p.written
  )
SELECT n.path AS subject, s.distinct_bytes AS distinct_bytes, s.bytes AS bytes, s.bytes / s.distinct_bytes AS times_ratio,
       CAST(0 AS BIGINT) AS could_save_ns, s.op_id AS op_id
FROM sums AS s JOIN file_names AS n ON s.file = n.file
WHERE s.bytes >= $bytes AND s.bytes >= $times * s.distinct_bytes

-- id: F26
-- title: the same bytes written to the disk again
-- shown: byte_balance
-- severity: note
-- needs: syscall_write, block
-- limit: bytes = 16777216; less written to the disk is no finding
-- limit: times = 3; fewer writings of each byte are no finding
-- sentence: The disk wrote {bytes} for {distinct_bytes} of {subject}: {times_ratio}.
-- advice: Sync less often, so that several changes of a page go to the disk together.
WITH
  places AS (
    SELECT file, total(result) AS written, union_length(CAST(position AS UBIGINT), plus(position, result)) AS distinct_bytes, arg_max(op_id, duration_ns) AS op_id
    FROM syscall_write
    WHERE result > 0 AND position >= 0
    GROUP BY file
  ),
  fates AS (SELECT file, any_value(path) AS path, total(to_device) AS bytes, total(written) AS written FROM write_fates GROUP BY file)
SELECT f.path AS subject, p.distinct_bytes AS distinct_bytes, f.bytes AS bytes, f.bytes / p.distinct_bytes AS times_ratio,
       CAST(0 AS BIGINT) AS could_save_ns, p.op_id AS op_id
-- Other ways to write, as io_uring and mappings, have no places.
FROM fates AS f JOIN places AS p ON f.file = p.file AND f.written <= p.written
WHERE f.bytes >= $bytes AND f.bytes >= $times * p.distinct_bytes

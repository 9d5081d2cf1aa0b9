-- id: F14
-- title: the same bytes read again
-- shown: files
-- severity: warning
-- needs: syscall_read
-- limit: bytes = 16777216; fewer bytes read are no finding
-- limit: times = 3; fewer readings of each byte are no finding
-- rows: syscall_read.bytes >= $bytes
-- sentence: {program} read {bytes} of {subject}, with {distinct_bytes} distinct: {times_ratio}, which took {took_ns}.
-- advice: Keep the data in memory, or map the file.
WITH
  first_reads AS (SELECT file, min(ts_ns) AS ts_ns FROM syscall_read WHERE result > 0 GROUP BY file),
  -- What is written meanwhile may be read anew.
  written_later AS (SELECT DISTINCT w.file AS file FROM syscall_write AS w JOIN first_reads AS f ON w.file = f.file WHERE w.ts_ns > f.ts_ns),
  reads AS (
    SELECT pid, file, position, result AS bytes, ts_ns, plus(ts_ns, duration_ns) AS until_ns, duration_ns, op_id
    FROM syscall_read
    WHERE result > 0 AND position >= 0 AND file NOT IN (SELECT file FROM written_later) AND file NOT IN (SELECT file FROM files_without_device)
  ),
  files AS (
    SELECT pid, file, total(bytes) AS bytes,
           union_length(CAST(position AS UBIGINT), plus(position, bytes)) AS distinct_bytes,
           union_length(ts_ns, until_ns) AS took_ns, arg_max(op_id, duration_ns) AS op_id
    FROM reads
    GROUP BY pid, file
  )
SELECT coalesce(p.comm, 'pid ' || f.pid) AS program, shown_path_at(f.file, 0) AS subject, f.bytes AS bytes, f.distinct_bytes AS distinct_bytes,
       f.bytes / f.distinct_bytes AS times_ratio, f.took_ns AS took_ns,
       CAST(f.took_ns * (1 - f.distinct_bytes / f.bytes) AS BIGINT) AS could_save_ns, f.op_id AS op_id
FROM files AS f LEFT JOIN programs AS p ON f.pid = p.program_pid
WHERE f.bytes >= $bytes AND f.bytes >= $times * f.distinct_bytes

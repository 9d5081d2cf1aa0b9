-- id: F53
-- title: a pipe in tiny pieces
-- shown: sizes
-- severity: warning
-- needs: calls
-- limit: calls = 10000; fewer small reads or writes of pipes are no finding
-- limit: bytes = 512; a call of fewer bytes is small
-- limit: share = 0.05; of the busiest time, the part that they must take
-- rows: calls >= $calls
-- sentence: {program} {did} pipes in {calls} calls of {mean_bytes} each, which took {took_ns}.
-- advice: Read and write pipes in blocks. A shell's `read` takes one byte a call from a pipe: use awk, or read a file.
WITH
  moved AS (
    SELECT coalesce(p.comm, 'pid ' || o.pid) AS program, o.pid AS pid, CASE WHEN reads(o.class) THEN 'read' ELSE 'wrote' END AS did,
           o.ts_ns AS ts_ns, plus(o.ts_ns, o.duration_ns) AS until_ns, o.duration_ns AS duration_ns, o.bytes AS bytes, o.op_id AS op_id
    FROM operations AS o
      JOIN files AS f ON o.file = f.file
      LEFT JOIN programs AS p ON o.pid = p.program_pid
    WHERE is_asked(o.layer) AND (reads(o.class) OR writes(o.class)) AND o.bytes > 0 AND o.bytes < $bytes
      AND choice_text('file_type', f.mode) = 'fifo'
  )
SELECT program, program AS subject, did, count(*) AS calls, mean(bytes) AS mean_bytes, union_length(ts_ns, until_ns) AS took_ns,
       busiest_share(ts_ns, until_ns, window_ns) AS busiest_share,
       CAST(union_length(ts_ns, until_ns) * (1 - avg(bytes) / 65536) AS BIGINT) AS could_save_ns, arg_max(op_id, duration_ns) AS op_id
FROM moved CROSS JOIN busy_window
GROUP BY program, pid, did
HAVING count(*) >= $calls AND busiest_share(ts_ns, until_ns, window_ns) >= $share

-- id: F04
-- title: a sync writes what others wrote
-- shown: write_backs
-- severity: warning
-- needs: calls, block
-- limit: bytes = 1048576; fewer bytes of others are no finding
-- sentence: The syncs of {subject} had to write {bytes} that {other} had written.
-- advice: Let {other} write to a file of its own, or at a steady pace (sync_file_range, a lower vm.dirty_background_bytes).
SELECT o.program AS subject, coalesce(p.comm, 'pid ' || l.pid) AS other, total(l.bytes) AS bytes,
       union_length(o.ts_ns, plus(o.ts_ns, o.duration_ns)) AS took_ns, CAST(0 AS BIGINT) AS could_save_ns, arg_max(o.op_id, o.duration_ns) AS op_id
FROM links AS l
  JOIN file_calls_by_op AS o ON l.by_op = o.op_id
  LEFT JOIN programs AS p ON l.pid = p.program_pid
WHERE l.direction = 'write' AND l.by_op <> 0 AND l.op_id <> 0 AND l.pid <> o.pid AND l.pid <> 0
  AND is_sync(o.class) AND coalesce(p.comm, 'pid ' || l.pid) <> o.program
GROUP BY subject, other
HAVING total(l.bytes) >= $bytes

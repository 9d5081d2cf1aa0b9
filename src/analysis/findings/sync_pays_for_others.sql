-- id: F04
-- title: a sync writes what others wrote
-- shown: write_backs
-- severity: warning
-- needs: calls, block
-- limit: bytes = 1048576; fewer bytes of others are no finding
-- sentence: The syncs of {subject} had to write {bytes} that {other} had written[, {journal_bytes} of it with commits of the journal].
-- advice: Let {other} write to a {place} of its own, or at a steady pace (sync_file_range, a lower vm.dirty_background_bytes).
WITH
  -- A commit writes the data of other files before it. It counts for the first sync that waits for it.
  commits AS (
    SELECT c.pid AS thread, c.ts_ns AS from_ns, plus(c.ts_ns, c.duration_ns) AS until_ns, arg_min(s.op_id, s.ts_ns) AS op_id
    FROM fs_journal_commit AS c JOIN fs_sync AS s ON c.device = s.device AND c.transaction = s.transaction
    WHERE s.op_id <> 0 AND s.ts_ns < plus(c.ts_ns, c.duration_ns) AND plus(s.ts_ns, s.duration_ns) >= plus(c.ts_ns, c.duration_ns)
    GROUP BY thread, from_ns, until_ns
  ),
  written AS (SELECT ts_ns, pid, by_op, by_pid, bytes FROM links WHERE direction = 'write' AND op_id <> 0 AND pid <> 0),
  pays AS (
    SELECT by_op AS op_id, pid, bytes, 0 AS journal_bytes FROM written WHERE by_op <> 0
    UNION ALL
    SELECT c.op_id AS op_id, w.pid AS pid, w.bytes AS bytes, w.bytes AS journal_bytes
    FROM (SELECT * FROM written WHERE by_op = 0) AS w ASOF JOIN commits AS c ON w.by_pid = c.thread AND w.ts_ns >= c.from_ns
    WHERE w.ts_ns < c.until_ns
  )
SELECT o.program AS subject, coalesce(p.comm, 'pid ' || l.pid) AS other, total(l.bytes) AS bytes, nullif(total(l.journal_bytes), 0) AS journal_bytes,
       CASE WHEN total(l.journal_bytes) > 0 THEN 'file system' ELSE 'file' END AS place,
       union_length(o.ts_ns, plus(o.ts_ns, o.duration_ns)) AS took_ns, CAST(0 AS BIGINT) AS could_save_ns, arg_max(o.op_id, o.duration_ns) AS op_id
FROM pays AS l
  JOIN file_calls_by_op AS o ON l.op_id = o.op_id
  LEFT JOIN programs AS p ON l.pid = p.program_pid
WHERE l.pid <> o.pid AND is_sync(o.class) AND coalesce(p.comm, 'pid ' || l.pid) <> o.program
GROUP BY subject, other
HAVING total(l.bytes) >= $bytes

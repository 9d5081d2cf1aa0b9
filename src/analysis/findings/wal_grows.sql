-- id: F54
-- title: a write-ahead log of SQLite that grows
-- shown: files
-- severity: note
-- needs: syscall_write
-- limit: bytes = 16777216; a log with fewer bytes since its begin is no finding
-- rows: syscall_write
-- sentence: {program} wrote {subject} up to {bytes} without beginning again at its start. SQLite begins again after a checkpoint, by default at about 4 MiB.
-- advice: End transactions that only read soon: a checkpoint cannot pass one, and each read searches the log. Else checkpoint: PRAGMA wal_checkpoint, wal_autocheckpoint.
WITH
  paths AS (SELECT file, path FROM file_names WHERE path LIKE '%-wal'),
  -- Only SQLite keeps an index of the log beside it.
  logs AS (SELECT p.file AS file, p.path AS path FROM paths AS p SEMI JOIN file_names AS i ON left(p.path, length(p.path) - 3) || 'shm' = regexp_replace(i.path, ' \(deleted\)\z', '')),
  writes AS (
    SELECT w.file AS file, w.pid AS pid, w.ts_ns AS ts_ns, w.op_id AS op_id, w.duration_ns AS duration_ns, w.position AS position, w.result AS bytes
    FROM syscall_write AS w SEMI JOIN logs AS l ON w.file = l.file
    WHERE w.result > 0 AND w.position >= 0
  ),
  begins AS (SELECT file, max(ts_ns) AS since_ns FROM writes WHERE position = 0 GROUP BY file),
  sums AS (
    SELECT w.file AS file, max(w.position + w.bytes) AS bytes, arg_max(w.pid, w.position) AS pid, arg_max(w.op_id, w.duration_ns) AS op_id
    FROM writes AS w JOIN begins AS b ON w.file = b.file
    WHERE w.ts_ns >= b.since_ns
    GROUP BY w.file
  )
SELECT coalesce(p.comm, 'pid ' || s.pid) AS program, l.path AS subject, s.bytes AS bytes, CAST(0 AS BIGINT) AS could_save_ns, s.op_id AS op_id
FROM sums AS s JOIN logs AS l ON s.file = l.file LEFT JOIN programs AS p ON s.pid = p.program_pid
WHERE s.bytes >= $bytes

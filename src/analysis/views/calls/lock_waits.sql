-- Locks of files that others had, by file, kind, and who was in the way: of the calls that are selected.
--   file, path    the file, and its last path
--   lock, owner   as in fs_lock
--   blocker, comm   the process that had taken a lock in the way, or was before this one in the queue, and the program that it
--                 ran last; 0 and NULL: not known, as of those who did not wait
--   waits         how often somebody waited
--   wait_ns       how long, together
--   longest_ns    the longest wait
--   unfinished    waits that were not over when the recording stopped
--   refused       how often somebody was told that there is such a lock, and did not wait
CREATE VIEW lock_waits AS
SELECT l.file AS file, any_value(n.path) AS path, l.lock AS lock, l.owner AS owner, l.blocker AS blocker, any_value(p.comm) AS comm,
       count(*) FILTER (l.wait_ns > 0) AS waits, total(l.wait_ns) AS wait_ns, max(l.wait_ns) AS longest_ns,
       count(*) FILTER (is_unfinished(l.result)) AS unfinished,
       count(*) FILTER (errno_name(l.result) IN ('EAGAIN', 'EACCES')) AS refused
FROM fs_lock AS l SEMI JOIN (SELECT ts_ns, tid FROM events WHERE event = 'fs_lock') AS e ON l.ts_ns = e.ts_ns AND l.tid = e.tid
  LEFT JOIN file_names AS n ON l.file = n.file
  LEFT JOIN programs AS p ON l.blocker = p.program_pid
WHERE l.wait_ns > 0 OR errno_name(l.result) IN ('EAGAIN', 'EACCES')
GROUP BY l.file, l.lock, l.owner, l.blocker;

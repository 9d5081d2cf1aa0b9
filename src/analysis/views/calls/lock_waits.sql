-- Contended file locks: one row per file, kind of lock, owner and blocking process, for the
-- selected calls.
--   file, path    the file, and its last path
--   lock, owner   as in fs_lock
--   blocker, comm   the process that held a blocking lock, or was earlier in the queue, and the program that it
--                   ran last; 0 and NULL: unknown, as for calls that did not wait
--   waits         number of waits
--   wait_ns       sum of the waits
--   longest_ns    the longest wait
--   unfinished    waits that had not ended when the recording stopped
--   refused       number of requests that failed without a wait because of such a lock
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

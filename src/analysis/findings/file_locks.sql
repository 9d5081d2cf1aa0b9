-- id: F28
-- title: waits for file locks
-- shown: lock_waits
-- severity: warning
-- needs: fs
-- limit: share = 0.1; of the run, the part that they must take
-- limit: refused = 1000; so many refused locks are a finding
-- rows: fs_lock
-- sentence: Programs waited {took_ns} for locks on {subject}[ that {holder} held], and {refused} locks were refused.
-- advice: Hold locks for less time; for SQLite use WAL and a busy_timeout.
WITH
  spans AS (
    SELECT n.path AS path, union_length(minus(plus(l.ts_ns, l.duration_ns), l.wait_ns), plus(l.ts_ns, l.duration_ns)) AS waiting_ns,
           arg_max(l.op_id, l.wait_ns) AS op_id
    FROM fs_lock AS l JOIN file_names AS n ON l.file = n.file
    WHERE l.wait_ns > 0
    GROUP BY n.path
  )
SELECT l.path AS subject, arg_max(l.comm, l.wait_ns) AS holder, total(l.waits) AS waits, total(l.wait_ns) AS took_ns, total(l.refused) AS refused,
       coalesce(any_value(s.waiting_ns), 0) AS could_save_ns, any_value(s.op_id) AS op_id
FROM lock_waits AS l CROSS JOIN run AS r LEFT JOIN spans AS s ON l.path = s.path
GROUP BY l.path
HAVING total(l.wait_ns) >= $share * any_value(r.duration_ns) AND total(l.wait_ns) > 0 OR total(l.refused) >= $refused

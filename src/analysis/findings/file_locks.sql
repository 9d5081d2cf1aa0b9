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
SELECT l.path AS subject, arg_max(l.comm, l.wait_ns) AS holder, total(l.waits) AS waits, total(l.wait_ns) AS took_ns, total(l.refused) AS refused,
       max(l.longest_ns) AS could_save_ns, CAST(NULL AS UBIGINT) AS op_id
FROM lock_waits AS l CROSS JOIN run AS r
GROUP BY l.path
HAVING total(l.wait_ns) >= $share * any_value(r.duration_ns) AND total(l.wait_ns) > 0 OR total(l.refused) >= $refused

-- id: F12
-- title: writers held back
-- shown: waits
-- severity: warning
-- needs: sched
-- limit: share = 0.05; of the busiest time, the part that they must be held back
-- limit: longest_ns = 100000000; one such wait is a finding whatever the share
-- sentence: The kernel held {subject} back {waits} times because too much was not yet written: {took_ns}, {longest_ns} at most.
-- advice: Start write-back earlier (sync_file_range, a lower vm.dirty_background_bytes), or write less.
SELECT coalesce(p.comm, 'pid ' || w.pid) AS subject, count(*) AS waits, union_length(w.ts_ns, plus(w.ts_ns, w.duration_ns)) AS took_ns,
       max(w.duration_ns) AS longest_ns, busiest_share(w.ts_ns, plus(w.ts_ns, w.duration_ns), b.window_ns) AS busiest_share,
       union_length(w.ts_ns, plus(w.ts_ns, w.duration_ns)) AS could_save_ns, arg_max(w.op_id, w.duration_ns) AS op_id
FROM waits AS w CROSS JOIN busy_window AS b LEFT JOIN programs AS p ON w.pid = p.program_pid
WHERE w.reason = 'throttle'
GROUP BY subject
HAVING busiest_share(w.ts_ns, plus(w.ts_ns, w.duration_ns), b.window_ns) >= $share OR max(w.duration_ns) >= $longest_ns

-- id: F27
-- title: waits for a file's lock in the kernel
-- shown: waits
-- severity: warning
-- needs: calls, sched
-- limit: share = 0.1; of the busiest time, the part that they must take
-- rows: waits.lock or waits.direct_io
-- sentence: Calls of {program} on {subject} waited {took_ns} for each other: one call at a time has the file's lock, in {waited_in}.
-- advice: Split the file, write aligned blocks over old ones with O_DIRECT, or let one thread write.
SELECT c.program AS program, c.path AS subject, count(*) AS waits, union_length(w.ts_ns, plus(w.ts_ns, w.duration_ns)) AS took_ns, mode(w.waited_in) AS waited_in,
       busiest_share(w.ts_ns, plus(w.ts_ns, w.duration_ns), b.window_ns) AS busiest_share,
       union_length(w.ts_ns, plus(w.ts_ns, w.duration_ns)) AS could_save_ns, arg_max(w.op_id, w.duration_ns) AS op_id
FROM waits AS w JOIN file_calls_by_op AS c ON w.op_id = c.op_id CROSS JOIN busy_window AS b
WHERE w.reason IN ('lock', 'direct_io')
GROUP BY c.program, c.path
HAVING busiest_share(w.ts_ns, plus(w.ts_ns, w.duration_ns), b.window_ns) >= $share

-- id: F48
-- title: calls free memory themselves
-- shown: waits
-- severity: warning
-- needs: calls, sched
-- limit: share = 0.05; of the busiest time, the part that they must wait for memory
-- rows: waits.memory
-- sentence: Calls of {subject} waited {took_ns} for memory that had to be freed first.
-- advice: Give it more memory, raise vm.watermark_scale_factor, or set memory.high lower than memory.max.
SELECT c.program AS subject, count(*) AS waits, union_length(w.ts_ns, plus(w.ts_ns, w.duration_ns)) AS took_ns,
       busiest_share(w.ts_ns, plus(w.ts_ns, w.duration_ns), b.window_ns) AS busiest_share,
       union_length(w.ts_ns, plus(w.ts_ns, w.duration_ns)) AS could_save_ns, arg_max(w.op_id, w.duration_ns) AS op_id
FROM waits AS w JOIN file_calls_by_op AS c ON w.op_id = c.op_id CROSS JOIN busy_window AS b
WHERE w.reason = 'memory'
GROUP BY c.program
HAVING busiest_share(w.ts_ns, plus(w.ts_ns, w.duration_ns), b.window_ns) >= $share

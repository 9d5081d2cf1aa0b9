-- id: F29
-- title: calls wait for a processor
-- severity: note
-- needs: calls, sched
-- limit: share = 0.5; of the time in calls on files, the part that they must take
-- limit: run_share = 0.05; of the run, the part that they must take
-- sentence: Calls of {subject} on files waited {took_ns} of {calls_ns} for a processor: the machine's load is the limit, not the disk.
-- advice: Run less at the same time, or use more processors.
SELECT c.program AS subject, total(CASE WHEN t.part = 'wait' AND t.reason = 'cpu' THEN t.ns ELSE 0 END) AS took_ns, total(t.ns) AS calls_ns,
       CAST(least(total(CASE WHEN t.part = 'wait' AND t.reason = 'cpu' THEN t.ns ELSE 0 END), union_length(c.ts_ns, c.until_ns)) AS BIGINT) AS could_save_ns,
       arg_max(t.op_id, t.ns) FILTER (t.part = 'wait' AND t.reason = 'cpu') AS op_id,
       CASE WHEN 2 * total(CASE WHEN t.part = 'wait' AND t.reason = 'cpu' AND is_sync(c.class) THEN t.ns ELSE 0 END)
                 >= total(CASE WHEN t.part = 'wait' AND t.reason = 'cpu' THEN t.ns ELSE 0 END) THEN 'syncs' END AS merges
FROM op_time AS t JOIN file_calls AS c ON t.op_id = c.op_id CROSS JOIN run AS r
GROUP BY c.program
HAVING total(CASE WHEN t.part = 'wait' AND t.reason = 'cpu' THEN t.ns ELSE 0 END) >= $share * total(t.ns)
  AND total(CASE WHEN t.part = 'wait' AND t.reason = 'cpu' THEN t.ns ELSE 0 END) >= $run_share * any_value(r.duration_ns)

-- id: F29
-- title: calls wait for a processor
-- shown: call_times
-- severity: note
-- needs: calls, sched
-- limit: share = 0.5; of the time in calls on files, the part that they must take
-- limit: run_share = 0.05; of the run, the part that they must take
-- sentence: Calls of {subject} on files waited {took_ns} of {calls_ns} for a processor, longer than for anything else.
-- advice: Run less at the same time, or use more processors.
WITH
  sums AS (
    SELECT program, total(CASE WHEN part = 'wait' AND reason = 'cpu' THEN ns ELSE 0 END) AS took_ns, total(ns) AS calls_ns,
           total(CASE WHEN part = 'wait' AND reason = 'cpu' AND is_sync(class) THEN ns ELSE 0 END) AS syncs_ns
    FROM file_call_parts
    GROUP BY program
  ),
  slow AS (
    SELECT s.*
    FROM sums AS s CROSS JOIN run AS r
    WHERE s.took_ns >= $share * s.calls_ns AND s.took_ns >= $run_share * r.duration_ns
  ),
  waits_of AS (
    SELECT program, op_id, total(ns) AS ns
    FROM file_call_parts SEMI JOIN slow USING (program)
    WHERE part = 'wait' AND reason = 'cpu'
    GROUP BY program, op_id
  ),
  slowest AS (SELECT program, arg_max(op_id, ns) AS op_id FROM waits_of GROUP BY program),
  busy AS (SELECT program, union_length(ts_ns, until_ns) AS busy_ns FROM file_calls SEMI JOIN slow USING (program) WHERE op_id <> 0 GROUP BY program)
SELECT s.program AS subject, s.took_ns AS took_ns, s.calls_ns AS calls_ns, CAST(least(s.took_ns, b.busy_ns) AS BIGINT) AS could_save_ns, m.op_id AS op_id,
       CASE WHEN 2 * s.syncs_ns >= s.took_ns THEN 'syncs' END AS merges
FROM slow AS s JOIN busy AS b ON s.program = b.program LEFT JOIN slowest AS m ON s.program = m.program

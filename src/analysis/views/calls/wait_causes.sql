-- Reasons of waits: one row per call, reason and kernel function. The waits add up to the time in
-- which the calls did not run.
--   call          the system call; 'fault': a fault on mapped memory outside calls; NULL: unknown
--   reason        as in waits; 'cpu': the task was ready to run, but others ran
--   waited_in     the kernel function that waited; NULL: unknown, or none
--   for_others    1: another program ends such a wait, not I/O of files
--   operations    number of calls that waited
--   waits         number of waits
--   wait_ns       sum of the waits
--   longest_ns    the longest wait
CREATE VIEW wait_causes AS
WITH
  calls AS (
    SELECT op_id AS call_op, any_value(coalesce(call, class)) AS call
    FROM all_events
    WHERE op_id <> 0 AND duration_ns IS NOT NULL AND layer IN (SELECT seen_layer FROM call_layer)
    GROUP BY op_id
  ),
  faults AS (SELECT DISTINCT op_id AS fault_op, 'fault' AS what FROM fault_file WHERE op_id <> 0),
  parts AS (
    SELECT op_id, parent_op, reason, waited_in, blocked_ns AS part_ns FROM waits WHERE reason IS NOT NULL
    UNION ALL
    SELECT op_id, parent_op, 'cpu' AS reason, NULL AS waited_in, runnable_ns AS part_ns FROM waits WHERE runnable_ns > 0
  )
SELECT coalesce(c.call, o.call, f.what) AS call, p.reason AS reason, p.waited_in AS waited_in, max(r.is_for_others) AS for_others,
       count(DISTINCT p.op_id) AS operations, count(*) AS waits, total(p.part_ns) AS wait_ns, max(p.part_ns) AS longest_ns
FROM parts AS p
  LEFT JOIN calls AS c ON p.op_id = c.call_op
  LEFT JOIN calls AS o ON p.parent_op = o.call_op
  LEFT JOIN faults AS f ON p.op_id = f.fault_op
  LEFT JOIN wait_reasons AS r ON p.reason = r.reason
GROUP BY coalesce(c.call, o.call, f.what), p.reason, p.waited_in;

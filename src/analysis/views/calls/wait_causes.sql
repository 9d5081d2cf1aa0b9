-- Reasons of waits: one row per call, reason, kernel function and for_others. The waits add up to the time in
-- which the calls did not run.
--   call          the system call; 'fault': a fault on mapped memory outside calls; NULL: unknown
--   reason        as in waits; 'cpu': the task was ready to run, but others ran
--   waited_in     the kernel function that waited; NULL: unknown, or none
--   for_others    1: another program ends such a call or wait, not I/O of files, as for polls, pipes, sockets and
--                 terminals
--   operations    number of calls that waited; each wait in a fault outside calls counts as one
--   waits         number of waits
--   wait_ns       sum of the waits
--   longest_ns    the longest wait
CREATE VIEW wait_causes AS
WITH
  calls AS (
    SELECT e.op_id AS call_op, any_value(coalesce(e.call, e.class)) AS call,
           max(CASE WHEN n.file IS NOT NULL OR waits_for_others(e.class) OR (e.file = 0 AND e.path = 0 AND is_unfinished(e.error)) THEN 1 ELSE 0 END) AS call_for_others
    FROM all_events AS e LEFT JOIN files_without_device AS n ON e.file = n.file
    WHERE e.op_id <> 0 AND e.duration_ns IS NOT NULL AND e.layer IN (SELECT seen_layer FROM call_layer)
    GROUP BY e.op_id
  ),
  faults AS (SELECT DISTINCT op_id AS fault_op, 'fault' AS what FROM fault_file WHERE op_id <> 0),
  parts AS (
    SELECT op_id, parent_op, reason, waited_in, blocked_ns AS part_ns, op_id = 0 AND is_stack_of_fault(stack) AS in_fault
    FROM waits WHERE reason IS NOT NULL
    UNION ALL
    SELECT op_id, parent_op, 'cpu' AS reason, NULL AS waited_in, runnable_ns AS part_ns, op_id = 0 AND is_stack_of_fault(stack) AS in_fault
    FROM waits WHERE runnable_ns > 0
  )
SELECT coalesce(c.call, o.call, f.what, CASE WHEN p.in_fault THEN 'fault' END) AS call, p.reason AS reason, p.waited_in AS waited_in,
       greatest(coalesce(c.call_for_others, o.call_for_others, 0), coalesce(r.is_for_others, 0)) AS for_others,
       count(DISTINCT nullif(p.op_id, 0)) + count(*) FILTER (p.op_id = 0) AS operations, count(*) AS waits, total(p.part_ns) AS wait_ns, max(p.part_ns) AS longest_ns
FROM parts AS p
  LEFT JOIN calls AS c ON p.op_id = c.call_op
  LEFT JOIN calls AS o ON p.parent_op = o.call_op
  LEFT JOIN faults AS f ON p.op_id = f.fault_op
  LEFT JOIN wait_reasons AS r ON p.reason = r.reason
GROUP BY coalesce(c.call, o.call, f.what, CASE WHEN p.in_fault THEN 'fault' END), p.reason, p.waited_in,
         greatest(coalesce(c.call_for_others, o.call_for_others, 0), coalesce(r.is_for_others, 0));

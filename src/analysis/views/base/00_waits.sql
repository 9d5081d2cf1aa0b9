-- Whether the functions are those of a page fault.
CREATE MACRO is_stack_of_fault(stack) AS coalesce(contains(stack, 'fault') OR contains(stack, 'page_mkwrite') OR contains(stack, 'do_swap_page'), false);

-- One row per wait: a task did not run during an operation.
--   op_id, parent_op, pid, tid   the operation and the task, as in events
--   ts_ns, duration_ns   when it left its CPU, and the time until it had one again
--   blocked_ns    the part in which it could not run
--   runnable_ns   the part in which it was ready to run; the two add up to duration_ns
--   state         'running': it was preempted, and waited for nothing else
--   reason        why it could not run: a reason of wait_reasons; NULL: it was preempted. Reads and write-back of
--                 files that a server or another program provides (NFS, FUSE) have the reason 'server'
--   waited_in     the kernel function that waited; NULL: unknown
--   stack         the kernel functions that led there, outermost first
--   error         0; unfinished if it still waited when the recording stopped
CREATE VIEW all_waits AS
WITH
  places AS (
    SELECT string AS place_string, text AS stack, wait_reason(text) AS reason, nullif(wait_place(text), '') AS waited_in
    FROM strings
    WHERE string IN (SELECT stack FROM sched_wait)
  ),
  served AS (
    SELECT DISTINCT op_id AS served_op
    FROM all_events
    WHERE op_id <> 0 AND duration_ns IS NOT NULL AND file IN (SELECT file FROM files WHERE is_served(file_system))
  )
SELECT w.op_id AS op_id, w.parent_op AS parent_op, w.pid AS pid, w.tid AS tid, w.ts_ns AS ts_ns, w.duration_ns AS duration_ns,
       minus(w.duration_ns, w.runnable_ns) AS blocked_ns, least(w.duration_ns, w.runnable_ns) AS runnable_ns,
       w.state AS state,
       CASE WHEN w.state = 'running' THEN NULL
            WHEN s.served_op IS NOT NULL AND p.reason IN ('page_read', 'write_back') THEN 'server'
            ELSE coalesce(p.reason, wait_reason('')) END AS reason,
       p.waited_in AS waited_in, p.stack AS stack, w.result AS error
FROM sched_wait AS w
  LEFT JOIN places AS p ON w.stack = p.place_string
  LEFT JOIN served AS s ON w.op_id = s.served_op;

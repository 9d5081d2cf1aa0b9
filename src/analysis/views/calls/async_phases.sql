-- The phases of asynchronous operations: one row per selected operation with a known end. The
-- phases add up to duration_ns.
--   op_id, call, pid, file, duration_ns   as in async_operation
--   submit_ns   until it submitted I/O to a device, or the kernel gave it to a worker thread
--   worker_ns   from then until the worker submitted I/O; to the end if it submitted none
--   queue_ns    at least one of its bios was queued, and none was at a device
--   device_ns   a device worked for it: on its own bios, or on a journal write that it waited for. A sync's
--               wait for bios queued by others is in other_ns or worker_ns here; explain shows it with the
--               device
--   unreported_ns   from the last device's answer until the program could see the result: for io_uring in its
--               completion queue, for libaio by a call
--   other_ns    the rest
CREATE VIEW async_phases AS
WITH
  ended AS (
    SELECT DISTINCT ON (op_id) op_id, call, pid, file, ts_ns, duration_ns, plus(ts_ns, duration_ns) AS end_ns,
           least(handed_over_ns, duration_ns) AS handed_ns
    FROM async_operation
    WHERE NOT is_unfinished(result) AND op_id IN (SELECT op_id FROM events WHERE event = 'async_operation')
    ORDER BY op_id, ts_ns
  ),
  work AS (
    SELECT by_op, ts_ns, issued_ns, completed_ns FROM all_links WHERE completed_ns IS NOT NULL
    UNION ALL
    -- Read into the cache for it, by the call that submitted it or by a kernel thread.
    SELECT op_id, ts_ns, issued_ns, completed_ns
    FROM all_links WHERE by_op <> op_id AND op_id <> 0 AND direction = 'read' AND completed_ns IS NOT NULL
    UNION ALL
    -- A request without bytes, such as a flush of the disk's cache, has no link.
    SELECT op_id, ts_ns, ts_ns, plus(ts_ns, duration_ns) FROM block_complete WHERE op_id <> 0 AND bytes = 0
  ),
  -- Clipped to the operation and made consecutive, even in a damaged trace.
  requests AS (
    SELECT l.by_op AS asked_op, o.end_ns AS end_ns, greatest(l.ts_ns, o.ts_ns) AS queued_ns,
           greatest(l.issued_ns, l.ts_ns, o.ts_ns) AS issued_ns,
           greatest(l.completed_ns, l.issued_ns, l.ts_ns, o.ts_ns) AS completed_ns
    FROM work AS l JOIN ended AS o ON l.by_op = o.op_id
    WHERE l.ts_ns < o.end_ns
  ),
  asked AS (
    SELECT asked_op, min(queued_ns) AS first_ns, max(least(completed_ns, end_ns)) AS last_ns,
           union_length(least(issued_ns, end_ns), least(completed_ns, end_ns)) AS device_ns,
           union_length(queued_ns, least(completed_ns, end_ns)) AS asked_ns
    FROM requests GROUP BY asked_op
  ),
  phases AS (
    SELECT o.op_id AS op_id, o.call AS call, o.pid AS pid, o.file AS file, o.duration_ns AS duration_ns, o.handed_ns AS handed_ns,
           coalesce(minus(a.first_ns, o.ts_ns), CASE WHEN o.handed_ns > 0 THEN o.duration_ns ELSE 0 END) AS before_ns,
           coalesce(a.device_ns, 0) AS device_ns, coalesce(a.asked_ns, 0) AS asked_ns,
           coalesce(minus(o.end_ns, a.last_ns), 0) AS unreported_ns
    FROM ended AS o LEFT JOIN asked AS a ON o.op_id = a.asked_op
  )
SELECT op_id, call, pid, file, duration_ns,
       CASE WHEN handed_ns > 0 THEN least(handed_ns, before_ns) ELSE before_ns END AS submit_ns,
       CASE WHEN handed_ns > 0 THEN minus(before_ns, handed_ns) ELSE 0 END AS worker_ns,
       minus(asked_ns, device_ns) AS queue_ns, device_ns, unreported_ns,
       minus(duration_ns, plus(plus(before_ns, asked_ns), unreported_ns)) AS other_ns
FROM phases;

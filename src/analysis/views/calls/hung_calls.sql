-- Calls on files that had not ended when the recording stopped, after a second or more: one row per
-- call of the layer call_layer. Calls that other programs end are left out, as on pipes and sockets.
--   op_id, pid, tid, call, file, path   as in operations
--   comm          the program
--   ts_ns         its begin (CLOCK_MONOTONIC), which may lie before the recording
--   duration_ns   from then to the end of the recording
--   reason        why it waits: a reason of wait_reasons; NULL: it ran, or waits were not recorded
--   waited_in     the kernel function that waits; NULL: unknown
--   stack         the kernel functions that led there, outermost first; NULL: unknown
CREATE VIEW hung_calls AS
WITH
  ends AS (
    SELECT op_id, argMax(reason, ts_ns) AS reason, argMax(waited_in, ts_ns) AS waited_in, argMax(stack, ts_ns) AS stack
    FROM waits
    WHERE is_unfinished(error)
    GROUP BY op_id
  )
SELECT o.op_id AS op_id, o.pid AS pid, o.tid AS tid, p.comm AS comm, o.call AS call, o.file AS file, o.path AS path,
       o.ts_ns AS ts_ns, o.duration_ns AS duration_ns, w.reason AS reason, w.waited_in AS waited_in, w.stack AS stack
FROM operations AS o
  JOIN asked_layers AS a ON o.layer = a.asked_layer
  LEFT JOIN files_without_device AS n ON o.file = n.file
  LEFT JOIN programs AS p ON o.pid = p.program_pid
  LEFT JOIN ends AS w ON o.op_id = w.op_id
  LEFT JOIN wait_reasons AS r ON w.reason = r.reason
WHERE is_unfinished(o.error) AND o.duration_ns >= 1000000000 AND n.file IS NULL AND o.path IS NOT NULL
  AND NOT waits_for_others(o.class) AND coalesce(r.is_for_others, 0) = 0;

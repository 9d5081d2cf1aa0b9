-- How long each side of a conversation took: one row per change of direction on a connected socket, from
-- system calls that moved bytes. Bytes that were only peeked at (MSG_PEEK) do not count.
--   socket, pid       key of files, and the process
--   kind              'answer': from the end of the last call that sent to the end of the first one that
--                     received: the network and the peer; 'work': from the end of the last call that received to
--                     the begin of the first one that sent: the program
--   from_ns           the begin of that time (CLOCK_MONOTONIC)
--   ns                its length
CREATE VIEW socket_answers AS
WITH
  moved AS (
    SELECT file, pid, ts_ns, duration_ns, sends(class) AS is_send, op_id
    FROM events
    WHERE layer = layer_at('kernel') AND (sends(class) OR receives(class)) AND event <> 'syscall_receive' AND bytes > 0 AND duration_ns IS NOT NULL
    UNION ALL
    SELECT r.file, r.pid, r.ts_ns, r.duration_ns, false AS is_send, r.op_id
    FROM syscall_receive AS r JOIN value_names AS p ON p.value_table = 'msg' AND p.name = 'MSG_PEEK'
    WHERE r.result > 0 AND bitAnd(r.flags, p.mask) <> p.number
    UNION ALL
    SELECT out_file, pid, ts_ns, duration_ns, true AS is_send, op_id FROM syscall_copy WHERE result > 0
    UNION ALL
    SELECT in_file, pid, ts_ns, duration_ns, false AS is_send, op_id FROM syscall_copy WHERE result > 0
  ),
  calls AS (
    SELECT file, pid, ts_ns, plus(ts_ns, duration_ns) AS until_ns, is_send, op_id FROM moved WHERE file IN (SELECT socket FROM connections)
  ),
  followed AS (
    SELECT *, lag(is_send) OVER talk AS after_send, lag(until_ns) OVER talk AS last_ns
    FROM calls
    WINDOW talk AS (PARTITION BY file ORDER BY until_ns, op_id)
  )
SELECT file AS socket, pid, CASE WHEN is_send THEN 'work' ELSE 'answer' END AS kind, last_ns AS from_ns,
       minus(CASE WHEN is_send THEN ts_ns ELSE until_ns END, last_ns) AS ns
FROM followed
WHERE is_send <> after_send;

-- One row per call or asynchronous operation on a file of a device: no pipes, sockets, terminals,
-- /proc and the like, and no unfinished calls on an unknown file. Calls of the layer call_layer.
--   class           as in operations; of a copy to a pipe or a socket: 'read'
--   call, op_id, pid, tid, ts_ns, duration_ns, bytes, error, file, path   as in operations
--   until_ns        its end
--   program         the program of its process; 'pid 7' if it is unknown
CREATE VIEW file_calls AS
WITH
  copies_elsewhere AS (
    SELECT op_id FROM syscall_copy SEMI JOIN files_without_device ON out_file = file
    UNION ALL
    SELECT op_id FROM app_copy SEMI JOIN files_without_device ON out_file = file
  )
SELECT CASE WHEN copies(o.class) AND o.op_id IN (SELECT op_id FROM copies_elsewhere) THEN 'read' ELSE o.class END AS class, o.call AS call, o.op_id AS op_id, o.pid AS pid, o.tid AS tid, o.ts_ns AS ts_ns,
       plus(o.ts_ns, o.duration_ns) AS until_ns, o.duration_ns AS duration_ns, o.bytes AS bytes, o.error AS error,
       o.file AS file, o.path AS path, coalesce(p.comm, 'pid ' || o.pid) AS program
FROM operations AS o
  LEFT JOIN files_without_device AS n ON o.file = n.file
  LEFT JOIN programs AS p ON o.pid = p.program_pid
WHERE is_asked(o.layer) AND n.file IS NULL AND NOT waits_for_others(o.class) AND NOT (o.file = 0 AND o.path IS NULL AND is_unfinished(o.error));

-- One row per number that several rows of file_calls share.
--   op_id   the number
CREATE VIEW shared_file_calls AS SELECT op_id FROM file_calls GROUP BY op_id HAVING count(*) > 1;

-- The rows of file_calls, for joins by operation: one row per operation. Of calls that share a number, as thousands may in a
-- forged trace, it is the first.
--   columns as in file_calls
CREATE VIEW file_calls_by_op AS
SELECT * FROM file_calls ANTI JOIN shared_file_calls USING (op_id)
UNION ALL
(SELECT DISTINCT ON (op_id) * FROM file_calls SEMI JOIN shared_file_calls USING (op_id) ORDER BY op_id, ts_ns);

-- The length of the window in which findings measure shares of time: a tenth of the run, at least
-- one second, and at most the run. One row.
--   window_ns   the length
CREATE VIEW busy_window AS
SELECT least(duration_ns, greatest(CAST(1000000000 AS UBIGINT), duration_ns // 10)) AS window_ns FROM run;

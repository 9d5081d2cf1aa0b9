-- The longest spans of each layer, 20 of each. A long call is there once for every layer that it passed.
-- Calls on pipes, sockets, terminals and the like are left out: they wait for somebody else, not for I/O.
--   columns as in the view operations, and
--   comm            name of the process
CREATE VIEW slowest AS
WITH
  longest AS (
    SELECT * FROM (SELECT * FROM events WHERE layer = 'app' AND duration_ns > 0
                     AND file NOT IN (SELECT file FROM files_without_device)
                   ORDER BY duration_ns DESC, ts_ns LIMIT 20)
    UNION ALL
    SELECT * FROM (SELECT * FROM events WHERE layer = 'syscall' AND duration_ns > 0
                     AND file NOT IN (SELECT file FROM files_without_device)
                   ORDER BY duration_ns DESC, ts_ns LIMIT 20)
    UNION ALL
    SELECT * FROM (SELECT * FROM events WHERE layer = 'vfs' AND duration_ns > 0
                     AND file NOT IN (SELECT file FROM files_without_device)
                   ORDER BY duration_ns DESC, ts_ns LIMIT 20)
    UNION ALL
    SELECT * FROM (SELECT * FROM events WHERE layer = 'block' AND duration_ns > 0
                   ORDER BY duration_ns DESC, ts_ns LIMIT 20)
  ),
  programs AS (SELECT pid AS program_pid, argMax(comm, since_ns) AS comm FROM processes GROUP BY pid)
SELECT e.layer AS layer, e.event AS event, e.class AS class, e.call AS call, e.op_id AS op_id,
       e.pid AS pid, e.tid AS tid, e.ts_ns AS ts_ns, e.duration_ns AS duration_ns,
       e.bytes AS bytes, e.error AS error, e.file AS file, coalesce(f.path, s.text) AS path, p.comm AS comm
FROM longest AS e
  LEFT JOIN files AS f ON e.file = f.file
  LEFT JOIN strings AS s ON e.path = s.string
  LEFT JOIN programs AS p ON e.pid = p.program_pid;

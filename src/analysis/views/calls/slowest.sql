-- The 20 longest spans of each layer, one row each. A long call appears once for every layer that
-- it passed. Calls on pipes, sockets, terminals and the like are excluded: they wait for another
-- program, not for I/O.
--   columns as in the view operations, but a relative path has its directory in front if that is known
--   operation       as in events
--   comm            name of the process
CREATE VIEW slowest AS
WITH
  kept AS NOT MATERIALIZED (
    SELECT *
    FROM events
    WHERE duration_ns > 0 AND file NOT IN (SELECT file FROM files_without_device) AND NOT waits_for_others(class)
  ),
  -- The durations that are far too short go first, so that not all spans are sorted.
  limits AS (SELECT layer AS of_layer, list_min(max(duration_ns, 20)) AS least_ns FROM kept GROUP BY layer),
  ranked AS (
    SELECT k.*, row_number() OVER (PARTITION BY layer ORDER BY duration_ns DESC, ts_ns) AS place
    FROM kept AS k JOIN limits ON layer = of_layer
    WHERE duration_ns >= least_ns
  )
SELECT e.layer AS layer, e.event AS event, e.class AS class, e.call AS call, e.op_id AS op_id, e.parent_op AS parent_op,
       e.pid AS pid, e.tid AS tid, e.ts_ns AS ts_ns, e.duration_ns AS duration_ns,
       e.bytes AS bytes, e.error AS error, e.file AS file, coalesce(g.given_path, shown_path_at(e.file, named_at(e.layer, e.ts_ns, e.duration_ns)), path_in(place_of(d.directory_file, d.directory, e.ts_ns), s.text)) AS path,
       e.operation AS operation, p.comm AS comm
FROM ranked AS e
  LEFT JOIN given_paths AS g ON e.file = g.file
  LEFT JOIN strings AS s ON e.path = s.string
  LEFT JOIN programs AS p ON e.pid = p.program_pid
  ASOF LEFT JOIN directories AS d
    ON e.pid = d.pid AND CASE e.at_fd WHEN -1 THEN at_fdcwd() ELSE e.at_fd END = d.fd AND e.ts_ns >= d.since_ns
WHERE e.place <= 20;

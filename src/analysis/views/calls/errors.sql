-- Failed calls: one row per call, error, path and process, at the layers where programs request
-- I/O.
--   layer, class, call   as in events
--   error                name of the error: 'ENOENT'
--   path                 the file, or the path in the call; NULL: neither is known
--   pid, comm            the process, and the program that it ran last
--   calls                number of failed calls
--   share                failed calls by all such calls of that process on that path; 1: all failed
--   first_ns, last_ns    begin of the first and of the last of them (CLOCK_MONOTONIC)
--   total_ns             sum of their durations
CREATE VIEW errors AS
WITH
  calls AS (
    SELECT e.layer AS layer, e.class AS class, e.call AS call, e.pid AS pid, e.error AS error, e.ts_ns AS ts_ns,
           e.duration_ns AS duration_ns, n.path AS path
    FROM events AS e LEFT JOIN file_names AS n ON e.file = n.file
    WHERE is_asked(e.layer) AND e.duration_ns IS NOT NULL AND (e.file <> 0 OR e.path = 0)
    UNION ALL
    SELECT layer, class, call, pid, error, ts_ns, duration_ns, path FROM path_calls
  ),
  counted AS (
    SELECT layer, class, call, pid, path, error, count(*) AS calls, min(ts_ns) AS first_ns, max(ts_ns) AS last_ns,
           total(duration_ns) AS total_ns, sum(count(*)) OVER (PARTITION BY layer, class, call, pid, path) AS all_calls
    FROM calls
    GROUP BY layer, class, call, pid, path, error
  )
SELECT c.layer AS layer, c.class AS class, c.call AS call, errno_name(c.error) AS error, c.path AS path, c.pid AS pid,
       g.comm AS comm, c.calls AS calls, c.calls / c.all_calls AS share, c.first_ns AS first_ns, c.last_ns AS last_ns,
       c.total_ns AS total_ns
FROM counted AS c LEFT JOIN programs AS g ON c.pid = g.program_pid
WHERE is_error(c.error);

-- Calls on files: one row per call.
--   call            the function or system call
--   calls           number of calls
--   errors          the failed ones
--   bytes           bytes moved; NULL: no data moves
--   total_ns        sum of the durations
--   busy_ns         time with at least one in progress
--   share           busy_ns by the time of the run
--   p50_ns, p99_ns  durations, exact
--   path            the file, or the kind of files with numbered names, that took most of the time
CREATE VIEW file_call_totals AS
WITH
  calls AS (SELECT *, coalesce(call, class) AS name, folded_path(path) AS kind FROM file_calls),
  totals AS (
    SELECT name AS call, count(*) AS calls, total(CASE WHEN is_error(error) THEN 1 ELSE 0 END) AS errors, total(bytes) AS bytes,
           total(duration_ns) AS total_ns, union_length(ts_ns, until_ns) AS busy_ns, p50(duration_ns) AS p50_ns, p99(duration_ns) AS p99_ns
    FROM calls
    GROUP BY name
  ),
  kinds AS (SELECT name, shown_files(path) AS path, sum(duration_ns) AS ns FROM calls WHERE path IS NOT NULL GROUP BY name, kind),
  most AS (SELECT name, arg_max(path, ns) AS path FROM kinds GROUP BY name)
SELECT t.*, least(t.busy_ns / nullif(r.duration_ns, 0), 1) AS share, m.path AS path
FROM totals AS t CROSS JOIN run AS r LEFT JOIN most AS m ON t.call = m.name;

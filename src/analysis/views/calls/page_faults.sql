-- Time in faults on mapped files: one row per file and kind of access. It needs the layer fault (fault_file).
--   file, path        key of the file, and its last name
--   access            as in fault_file
--   faults, major     number of faults, and of those that read the page from a device
--   errors            faults that ended with a signal, or without memory
--   processes         number of processes that had them
--   total_ns          sum of their durations
--   major_ns          part of it in major faults
--   busy_ns, share    time with at least one in progress, and its share of the run
--   p50_ns, p99_ns, max_ns   durations, exact
--   distinct_pages    number of pages of 4096 bytes that they touched
CREATE VIEW page_faults AS
WITH
  faults AS (
    SELECT f.file AS file, f.access AS access, f.pid AS pid, f.major AS major, f.result AS result, f.position AS position, f.duration_ns AS duration_ns,
           greatest(f.ts_ns, r.begin_ns) AS from_ns, least(plus(f.ts_ns, f.duration_ns), r.end_ns) AS until_ns
    FROM fault_file AS f CROSS JOIN run AS r
    WHERE f.op_id IN (SELECT op_id FROM events WHERE event = 'fault_file')
  ),
  sums AS (
    SELECT file, access, count(*) AS faults, count(*) FILTER (major <> 0) AS major, count(*) FILTER (is_error(result)) AS errors,
           count(DISTINCT pid) AS processes, total(duration_ns) AS total_ns, coalesce(total(CASE WHEN major <> 0 THEN duration_ns END), 0) AS major_ns,
           union_length(from_ns, until_ns) AS busy_ns, p50(duration_ns) AS p50_ns, p99(duration_ns) AS p99_ns, max(duration_ns) AS max_ns,
           count(DISTINCT position // 4096) AS distinct_pages
    FROM faults
    GROUP BY file, access
  )
SELECT s.file AS file, n.path AS path, s.access AS access, s.faults AS faults, s.major AS major, s.errors AS errors, s.processes AS processes,
       s.total_ns AS total_ns, s.major_ns AS major_ns, s.busy_ns AS busy_ns, s.busy_ns / nullif(r.duration_ns, 0) AS share, s.p50_ns AS p50_ns,
       s.p99_ns AS p99_ns, s.max_ns AS max_ns, s.distinct_pages AS distinct_pages
FROM sums AS s CROSS JOIN run AS r LEFT JOIN file_names AS n ON s.file = n.file;

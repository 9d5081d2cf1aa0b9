-- id: F44
-- title: uneven workers
-- shown: processes
-- severity: note
-- needs: calls
-- limit: workers = 4; fewer processes of a program are no finding
-- limit: share = 0.3; the slowest must take so much longer, of its own time
-- limit: run_share = 0.1; of the run, the part that the slowest must spend in calls
-- rows: calls >= $workers
-- sentence: The slowest of {workers} processes of {subject} spent {slowest_ns} in I/O, the fastest {fastest_ns}.
-- advice: Share the work out by bytes.
WITH processes_of AS (SELECT program, pid, union_length(ts_ns, until_ns) AS ns, min(ts_ns) AS from_ns, max(until_ns) AS until_ns, arg_max(op_id, duration_ns) AS op_id FROM file_calls GROUP BY program, pid)
SELECT program AS subject, count(*) AS workers, max(ns) AS slowest_ns, min(ns) AS fastest_ns, CAST(max(ns) - mean(ns) AS BIGINT) AS could_save_ns, arg_max(op_id, ns) AS op_id
FROM processes_of
GROUP BY program
HAVING count(*) >= $workers AND max(from_ns) < min(until_ns) -- all work at the same time
  AND min(ns) >= 0.01 * max(ns) AND max(ns) - min(ns) >= $share * max(ns)
  AND max(ns) >= $run_share * (SELECT duration_ns FROM run)

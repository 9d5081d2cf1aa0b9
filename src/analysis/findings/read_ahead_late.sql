-- id: F07
-- title: read-ahead that comes too late
-- shown: read_ahead
-- severity: warning
-- needs: calls, cache, block
-- limit: share = 0.05; of the busiest time, the part that calls must wait for it
-- limit: late = 0.5; of the bytes used, the part that must come late
-- sentence: Calls on {subject} waited {took_ns} for read-ahead that was still on its way.
-- advice: Read further ahead: a larger read_ahead_kb of the device, readahead(2), or two readers.
WITH
  waits_of_files AS (
    SELECT l.file AS file, union_length(c.ts_ns, plus(c.ts_ns, l.late_ns)) AS took_ns,
           busiest_share(c.ts_ns, plus(c.ts_ns, l.late_ns), w.window_ns) AS busiest_share, arg_max(l.op_id, l.late_ns) AS op_id
    FROM late_reads AS l JOIN file_calls_by_op AS c ON l.op_id = c.op_id CROSS JOIN busy_window AS w
    GROUP BY l.file
  )
SELECT r.path AS subject, r.used AS used_bytes, r.late AS late_bytes, w.took_ns AS took_ns, w.busiest_share AS busiest_share,
       w.took_ns AS could_save_ns, w.op_id AS op_id
FROM read_ahead AS r JOIN waits_of_files AS w ON r.file = w.file
WHERE r.late > $late * r.used AND w.busiest_share >= $share

-- id: F21
-- title: opened for each access
-- shown: files
-- severity: warning
-- needs: calls
-- limit: opens = 500; fewer opens of a file are no finding
-- limit: transfers = 2; more reads and writes than this an open are no finding
-- limit: share = 0.05; of the busiest time, the part that opening and closing must take
-- rows: calls >= $opens
-- sentence: {program} opened {subject} {opens} times for {transfers} reads and writes; opening and closing took {took_ns}.
-- advice: Open the file once and keep it open.
WITH calls AS (SELECT *, (opens(class) OR closes(class)) AS is_opening FROM file_calls WHERE path IS NOT NULL)
SELECT program, path AS subject, count(*) FILTER (opens(class) AND error >= 0) AS opens,
       count(*) FILTER (moves_bytes(class)) AS transfers,
       union_length(CASE WHEN is_opening THEN ts_ns END, until_ns) AS took_ns,
       busiest_share(CASE WHEN is_opening THEN ts_ns END, until_ns, window_ns) AS busiest_share,
       union_length(CASE WHEN is_opening THEN ts_ns END, until_ns) AS could_save_ns,
       arg_max(op_id, duration_ns) FILTER (is_opening) AS op_id
FROM calls CROSS JOIN busy_window
GROUP BY program, pid, path
HAVING count(*) FILTER (opens(class) AND error >= 0) >= $opens
  AND count(*) FILTER (moves_bytes(class)) <= $transfers * count(*) FILTER (opens(class) AND error >= 0)
  AND busiest_share(CASE WHEN is_opening THEN ts_ns END, until_ns, window_ns) >= $share

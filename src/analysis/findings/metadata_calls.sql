-- id: F20
-- title: most time in open, stat and the like
-- severity: warning
-- needs: calls
-- limit: calls = 1000; fewer calls are no finding
-- limit: share = 0.5; of the time in calls on files, the part that they must take
-- limit: busiest_share = 0.1; of the busiest time, the part that they must take
-- rows: calls >= $calls
-- sentence: {subject} spent {took_ns} of {calls_ns} in {calls} calls on names and attributes of files, most in {call}.
-- advice: Touch fewer files, keep what was looked up, or do it for several at once.
WITH
  calls AS (SELECT *, is_metadata(class) AS is_metadata FROM file_calls),
  kinds AS (SELECT program, coalesce(call, class) AS call, sum(duration_ns) AS ns FROM calls WHERE is_metadata GROUP BY ALL),
  most AS (SELECT program, arg_max(call, ns) AS call FROM kinds GROUP BY program),
  sums AS (
    SELECT program, count(*) FILTER (is_metadata) AS calls, union_length(CASE WHEN is_metadata THEN ts_ns END, until_ns) AS took_ns,
           union_length(ts_ns, until_ns) AS calls_ns, busiest_share(CASE WHEN is_metadata THEN ts_ns END, until_ns, window_ns) AS busiest_share,
           arg_max(op_id, duration_ns) FILTER (is_metadata) AS op_id
    FROM calls CROSS JOIN busy_window
    GROUP BY program
  )
SELECT s.program AS subject, s.calls AS calls, m.call AS call, s.took_ns AS took_ns, s.calls_ns AS calls_ns, s.busiest_share AS busiest_share,
       s.took_ns AS could_save_ns, s.op_id AS op_id
FROM sums AS s JOIN most AS m ON s.program = m.program
WHERE s.calls >= $calls AND s.took_ns >= $share * s.calls_ns AND s.busiest_share >= $busiest_share

-- id: F01
-- title: tiny writes
-- shown: sizes
-- severity: warning
-- needs: calls
-- limit: calls = 1000; fewer small writes to a file are no finding
-- limit: per_file = 10; fewer small calls for each file are no finding
-- limit: many_calls = 10000; so many are a finding whatever time they take
-- limit: bytes = 4096; a write of fewer bytes is small
-- limit: share = 0.05; of the busiest time, the part that they must take
-- rows: calls >= $calls
-- sentence: {program} wrote {subject} in {calls} calls of {mean_bytes} each, which took {took_ns}.
-- advice: Collect the data in memory and write 64 KiB or more at once: setvbuf, a buffered writer, writev.
SELECT program, shown_files(path) AS subject, count(*) AS calls, total(bytes) AS bytes, mean(bytes) AS mean_bytes,
       union_length(ts_ns, until_ns) AS took_ns, busiest_share(ts_ns, until_ns, window_ns) AS busiest_share,
       CAST(union_length(ts_ns, until_ns) * (1 - avg(bytes) / 65536) AS BIGINT) AS could_save_ns,
       arg_max(op_id, duration_ns) AS op_id
FROM file_calls CROSS JOIN busy_window
WHERE writes(class) AND bytes > 0 AND bytes < $bytes
GROUP BY program, pid, folded_path(path)
HAVING count(*) >= $calls AND count(*) >= $per_file * count(DISTINCT file) AND (count(*) >= $many_calls OR busiest_share(ts_ns, until_ns, window_ns) >= $share)

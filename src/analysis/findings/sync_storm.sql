-- id: F03
-- title: many small syncs
-- shown: call_times
-- severity: warning
-- needs: calls
-- merges: syncs
-- limit: syncs = 100; fewer syncs of a program are no finding
-- limit: bytes = 65536; syncs that each make more written bytes durable are no finding
-- limit: share = 0.1; of the busiest time, the part that they must take
-- rows: calls >= $syncs
-- sentence: {program} synced {syncs} times for {bytes} written, {mean_bytes} each: {took_ns}, most of it on {subject}.
-- advice: Make several changes durable with one sync: larger transactions, a write-ahead log, or one sync for several writers.
WITH
  calls AS (SELECT *, is_sync(class) AS is_sync FROM file_calls),
  programs_synced AS (
    SELECT program, pid, count(*) FILTER (is_sync) AS syncs, total(CASE WHEN writes(class) THEN bytes END) AS bytes,
           union_length(CASE WHEN is_sync THEN ts_ns END, until_ns) AS took_ns,
           busiest_share(CASE WHEN is_sync THEN ts_ns END, until_ns, window_ns) AS busiest_share,
           arg_max(op_id, duration_ns) FILTER (is_sync) AS op_id
    FROM calls CROSS JOIN busy_window
    WHERE is_sync OR writes(class)
    GROUP BY program, pid
  ),
  kinds AS (SELECT pid, shown_files(path) AS path, sum(duration_ns) AS sync_ns FROM calls WHERE is_sync GROUP BY pid, folded_path(path)),
  most AS (SELECT pid, arg_max(path, sync_ns) AS path FROM kinds GROUP BY pid)
SELECT p.program AS program, coalesce(m.path, p.program) AS subject, p.syncs AS syncs, p.bytes AS bytes, p.bytes // p.syncs AS mean_bytes,
       p.took_ns AS took_ns, p.busiest_share AS busiest_share, p.took_ns AS could_save_ns, p.op_id AS op_id
FROM programs_synced AS p LEFT JOIN most AS m ON p.pid = m.pid
WHERE p.syncs >= $syncs AND p.bytes <= $bytes * p.syncs AND p.busiest_share >= $share

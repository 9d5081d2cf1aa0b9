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
-- sentence: {program} synced {syncs} times for {bytes} written[, {mapped_bytes} of it in pages of mapped files], {mean_bytes} each: {took_ns}, most of it on {subject}.
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
    HAVING count(*) FILTER (is_sync) >= $syncs
  ),
  kinds AS (SELECT pid, shown_files(path) AS path, sum(duration_ns) AS sync_ns FROM calls WHERE is_sync GROUP BY pid, folded_path(path)),
  most AS (SELECT pid, arg_max(path, sync_ns) AS path FROM kinds GROUP BY pid),
  -- Stores through mappings are no calls: layer cache has the pages.
  stored AS (SELECT pid, total(mapped) AS bytes FROM found_fates() WHERE file NOT IN (SELECT file FROM files_without_device) GROUP BY pid),
  unseen AS (
    SELECT pid FROM calls WHERE is_sync AND call = 'msync'
    UNION
    SELECT s.pid AS pid
    FROM calls AS s JOIN syscall_mmap AS m ON s.pid = m.pid AND s.file = m.file
      JOIN value_names AS p ON p.value_table = 'prot' AND p.name = 'PROT_WRITE'
      JOIN value_names AS k ON k.value_table = 'map' AND k.name = 'MAP_SHARED'
    WHERE s.is_sync AND s.file <> 0 AND bitAnd(m.prot, p.mask) = p.number AND bitAnd(m.flags, k.number) = k.number
  ),
  cache AS (
    SELECT EXISTS (SELECT event FROM hooks WHERE event = 'cache_dirty' AND hook <> '') OR EXISTS (SELECT ts_ns FROM cache_dirty) AS is_recorded
  ),
  sums AS (
    SELECT p.*, nullif(s.bytes, 0) AS mapped_bytes, p.bytes + coalesce(s.bytes, 0) AS all_bytes
    FROM programs_synced AS p CROSS JOIN cache AS c LEFT JOIN stored AS s ON p.pid = s.pid
    WHERE c.is_recorded OR p.pid NOT IN (SELECT pid FROM unseen)
  )
SELECT p.program AS program, coalesce(m.path, p.program) AS subject, p.syncs AS syncs, p.all_bytes AS bytes, p.mapped_bytes AS mapped_bytes,
       p.all_bytes // p.syncs AS mean_bytes, p.took_ns AS took_ns, p.busiest_share AS busiest_share, p.took_ns AS could_save_ns, p.op_id AS op_id
FROM sums AS p LEFT JOIN most AS m ON p.pid = m.pid
WHERE p.all_bytes <= $bytes * p.syncs AND p.busiest_share >= $share

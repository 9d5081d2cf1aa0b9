-- I/O that calls in the trace prove, and that none of its requests explains, though disks counted writes that
-- are not in the trace: one row per kind. The trace lacks this I/O, whatever other programs did. It covers
-- the whole trace. No rows: there is none, or losses, missing layers or the disks' counters leave it open.
--   kind      'synced data': a call wrote it to a file on a disk, a later call synced the file without an error,
--             and no bio carried it; 'journal commits': calls waited for one, and no bio began or completed meanwhile.
--             Fewer than three such calls, or at most half of those that waited, are no proof
--   amount    bytes; of commits, calls
--   of_all    likewise, with those that are explained
--   path      synced data: the file with most of it
--   disks     the disks that counted more writes than the trace has
CREATE VIEW unseen_io AS
WITH
  counted AS (SELECT string_agg(device_name, ', ' ORDER BY device_name) AS disks FROM disk_balance WHERE direction = 'write' AND absent > 0),
  known AS (
    SELECT (SELECT count(*) FROM hooks WHERE event = 'block_queue' AND hook <> '') + (SELECT count(*) FROM block_queue) > 0
             AND (SELECT count(*) FROM losses
                  WHERE source <> 'preload' AND severity IN ('loss', 'gap') AND layer IN (layer_at('devices'), layer_at('kernel'), '0')
                    AND counter NOT IN ('kernel_completion_missed', 'kernel_request_untracked')) = 0 AS is_whole
  ),
  open_fates AS (
    SELECT file, any_value(path) AS path, total(pending) AS pending, total(written) AS written
    FROM write_fates
    GROUP BY file
    HAVING sum(pending) > 0
  ),
  -- Only these reach a local disk: btrfs has no device of its own.
  on_disks AS (
    SELECT f.file AS file FROM files AS f JOIN devices AS d ON f.device = d.device
    UNION
    SELECT file FROM all_events WHERE event = 'fs_allocate'
  ),
  changes AS (
    SELECT file, max(CASE WHEN makes_durable(class) AND event NOT IN ('app_msync', 'syscall_msync') AND error = 0 THEN ts_ns END) AS synced_ns,
           max(CASE WHEN NOT is_sync(class) AND (writes(class) OR event IN ('cache_dirty', 'fault_file')) THEN plus(ts_ns, coalesce(duration_ns, 0)) END) AS changed_ns
    FROM all_events
    WHERE file IN (SELECT file FROM open_fates) AND layer <> layer_at('devices')
    GROUP BY file
  ),
  data AS (
    SELECT f.path AS path, f.pending AS pending, f.written AS written
    FROM open_fates AS f
      JOIN changes AS c ON f.file = c.file
      JOIN on_disks AS d ON f.file = d.file
    WHERE c.changed_ns <= c.synced_ns
  ),
  commit_waits AS (
    SELECT op_id, min(ts_ns) AS from_ns, max(plus(ts_ns, blocked_ns)) AS until_ns
    FROM all_waits
    WHERE reason = 'journal_commit' AND error = 0 AND op_id <> 0
    GROUP BY op_id
  ),
  -- A call may find its commit's last write done after the wait.
  commit_calls AS (
    SELECT w.op_id AS op_id, w.from_ns AS from_ns, greatest(w.until_ns, coalesce(max(plus(e.ts_ns, e.duration_ns)), 0)) AS until_ns
    FROM commit_waits AS w LEFT JOIN (SELECT op_id, ts_ns, duration_ns FROM all_events WHERE duration_ns IS NOT NULL AND is_asked(layer)) AS e ON w.op_id = e.op_id
    GROUP BY w.op_id, w.from_ns, w.until_ns
  ),
  -- If the kernel did not report a completion, the bio is there.
  written AS (
    SELECT plus(ts_ns, duration_ns) AS at_ns FROM block_complete WHERE choice_text('block', flags) <> 'read'
    UNION ALL
    SELECT ts_ns FROM block_queue WHERE choice_text('block', flags) <> 'read'
  ),
  explained AS (
    SELECT c.op_id AS op_id, coalesce(d.at_ns >= c.from_ns, false) AS is_explained
    FROM commit_calls AS c ASOF LEFT JOIN written AS d ON c.until_ns >= d.at_ns
  ),
  commits AS (SELECT count(*) AS calls, count(*) FILTER (NOT is_explained) AS unseen FROM explained),
  kinds AS (
    SELECT 'synced data' AS kind, total(pending) AS amount, total(written) AS of_all, arg_max(path, pending) AS path FROM data
    UNION ALL
    SELECT 'journal commits', unseen, calls, NULL FROM commits WHERE unseen >= 3 AND unseen * 2 > calls
  )
SELECT k.kind AS kind, k.amount AS amount, k.of_all AS of_all, k.path AS path, c.disks AS disks
FROM kinds AS k CROSS JOIN counted AS c CROSS JOIN known AS w
WHERE k.amount > 0 AND c.disks IS NOT NULL AND w.is_whole;

-- The cost of calls that make data durable (fsync and the like): one row per process, call and file. The times
-- from device_ns to other_ns add up to total_ns.
--   pid, comm         the process
--   call              the call
--   file, path        the file, and its last name; 0, NULL: all files, as for sync
--   syncs, errors     number of calls, and of the failed ones
--   total_ns, p50_ns, p99_ns, max_ns   their durations
--   device_ns         a device worked for them
--   queue_ns          their requests waited before the device
--   journal_ns        a commit of the journal was under way, and none of these
--   wait_ns           the task waited otherwise
--   other_ns          the rest: work of the kernel
--   own_bytes         bytes that they submitted or waited for, written by the same process
--   others_bytes      the same, written by other processes
--   unknown_bytes     the same, of no known process
--   bytes_per_sync    own_bytes by the number of calls

-- The bytes that each call that makes data durable submitted or waited for: one row per call and link.
--   op_id             the call
--   writer            the process that wrote the bytes; 0: unknown
--   file              their file; 0: none, as for metadata
--   cause, bytes      as in links
--   from_ns, until_ns   from the queueing of the bio to its completion
CREATE VIEW sync_links AS
WITH
  syncs AS (
    SELECT DISTINCT op_id FROM events
    WHERE op_id <> 0 AND duration_ns IS NOT NULL AND makes_durable(class) AND layer IN (SELECT asked_layer FROM asked_layers)
  )
SELECT by_op AS op_id, pid AS writer, coalesce(file, 0) AS file, cause, bytes, ts_ns AS from_ns, completed_ns AS until_ns
FROM all_links
WHERE direction = 'write' AND completed_ns IS NOT NULL AND by_op IN (SELECT op_id FROM syncs)
UNION ALL
SELECT op_id, pid AS writer, coalesce(file, 0) AS file, cause, bytes, ts_ns AS from_ns, completed_ns AS until_ns
FROM sync_writes
WHERE by_op <> op_id AND op_id IN (SELECT op_id FROM syncs);

CREATE VIEW sync_costs AS
WITH
  syncs AS MATERIALIZED (
    SELECT op_id, any_value(pid) AS pid, any_value(coalesce(call, class)) AS call, any_value(file) AS file, max(duration_ns) AS duration_ns,
           max(CASE WHEN is_error(error) THEN 1 ELSE 0 END) AS is_failed
    FROM events
    WHERE op_id <> 0 AND duration_ns IS NOT NULL AND makes_durable(class) AND layer IN (SELECT asked_layer FROM asked_layers)
    GROUP BY op_id
  ),
  parts AS (
    SELECT op_id, sum(CASE WHEN part = 'device' THEN ns ELSE 0 END) AS device_ns,
           sum(CASE WHEN part IN ('scheduler', 'plug', 'queue', 'held back') THEN ns ELSE 0 END) AS queue_ns,
           sum(CASE WHEN part = 'journal' OR reason IN ('journal_commit', 'journal_space', 'journal_buffer') THEN ns ELSE 0 END) AS journal_ns,
           sum(CASE WHEN part = 'wait' AND reason NOT IN ('journal_commit', 'journal_space', 'journal_buffer') THEN ns ELSE 0 END) AS wait_ns,
           sum(ns) AS ns
    FROM op_time
    WHERE op_id IN (SELECT op_id FROM syncs)
    GROUP BY op_id
  ),
  moved AS (
    SELECT s.op_id AS op_id, sum(CASE WHEN m.writer = s.pid THEN m.bytes ELSE 0 END) AS own_bytes,
           sum(CASE WHEN m.writer NOT IN (0, s.pid) THEN m.bytes ELSE 0 END) AS others_bytes,
           sum(CASE WHEN m.writer = 0 THEN m.bytes ELSE 0 END) AS unknown_bytes
    FROM sync_links AS m JOIN syncs AS s ON m.op_id = s.op_id
    GROUP BY s.op_id
  ),
  sums AS (
    SELECT s.pid AS pid, s.call AS call, s.file AS file, count(*) AS syncs, total(s.is_failed) AS errors, total(s.duration_ns) AS total_ns,
           p50(s.duration_ns) AS p50_ns, p99(s.duration_ns) AS p99_ns, max(s.duration_ns) AS max_ns, total(coalesce(t.device_ns, 0)) AS device_ns,
           total(coalesce(t.queue_ns, 0)) AS queue_ns, total(coalesce(t.journal_ns, 0)) AS journal_ns, total(coalesce(t.wait_ns, 0)) AS wait_ns,
           total(coalesce(m.own_bytes, 0)) AS own_bytes, total(coalesce(m.others_bytes, 0)) AS others_bytes,
           total(coalesce(m.unknown_bytes, 0)) AS unknown_bytes
    FROM syncs AS s LEFT JOIN parts AS t ON s.op_id = t.op_id LEFT JOIN moved AS m ON s.op_id = m.op_id
    GROUP BY s.pid, s.call, s.file
  )
SELECT s.pid AS pid, p.comm AS comm, s.call AS call, s.file AS file, n.path AS path, s.syncs AS syncs, s.errors AS errors,
       s.total_ns AS total_ns, s.p50_ns AS p50_ns, s.p99_ns AS p99_ns, s.max_ns AS max_ns, s.device_ns AS device_ns, s.queue_ns AS queue_ns,
       s.journal_ns AS journal_ns, s.wait_ns AS wait_ns,
       greatest(CAST(s.total_ns AS HUGEINT) - s.device_ns - s.queue_ns - s.journal_ns - s.wait_ns, 0) AS other_ns, s.own_bytes AS own_bytes,
       s.others_bytes AS others_bytes, s.unknown_bytes AS unknown_bytes, CAST(floor(s.own_bytes / s.syncs) AS BIGINT) AS bytes_per_sync
FROM sums AS s LEFT JOIN programs AS p ON s.pid = p.program_pid LEFT JOIN file_names AS n ON s.file = n.file;

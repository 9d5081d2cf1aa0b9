-- How long files lived that were created or removed in the recording: one row per file.
--   file, path        key of the file, and its last name
--   pid, comm         the process that created it; NULL: it existed before
--   created_ns        the open that created it; NULL: none. An open with O_CREAT of a file that no event has
--                     used before counts
--   is_certain        1: the open had O_EXCL or O_TMPFILE; 0: the file may have existed before; NULL: not created
--   removed_ns        when it lost its last name; NULL: it kept one
--   life_ns           from the one to the other; NULL: one is unknown
--   bytes_written, bytes_read   bytes moved by calls
--   device_bytes_written   bytes that devices wrote for it; NULL: none were seen
--   syncs             calls that made its data durable
CREATE VIEW file_lifetimes AS
WITH
  creating AS (SELECT v.mask AS mask, v.number AS number, v.name AS name FROM value_names AS v WHERE v.value_table = 'open' AND v.name IN ('O_CREAT', 'O_EXCL', 'O_TMPFILE')),
  opens AS (
    SELECT file, pid, ts_ns, CAST(flags AS UBIGINT) AS flags FROM syscall_open WHERE result >= 0
    UNION ALL SELECT file, pid, ts_ns, CAST(flags AS UBIGINT) AS flags FROM app_open WHERE result >= 0
    UNION ALL SELECT file, pid, ts_ns, CAST(open_flags AS UBIGINT) AS flags FROM async_path WHERE result >= 0
  ),
  firsts AS (SELECT file, min(ts_ns) AS first_ns FROM all_events WHERE file <> 0 GROUP BY file),
  created AS (
    SELECT o.file AS file, arg_min(o.pid, o.ts_ns) AS pid, min(o.ts_ns) AS created_ns,
           max(CASE WHEN c.name = 'O_CREAT' THEN 0 ELSE 1 END) AS is_certain
    FROM opens AS o
      JOIN creating AS c ON bitAnd(o.flags, c.mask) = c.number
      JOIN firsts AS f ON o.file = f.file
    WHERE o.ts_ns <= f.first_ns AND EXISTS (SELECT 1 FROM creating AS k WHERE k.name IN ('O_CREAT', 'O_TMPFILE') AND bitAnd(o.flags, k.mask) = k.number)
    GROUP BY o.file
  ),
  removed AS (SELECT file, max(since_ns) AS removed_ns FROM file_paths WHERE is_removed = 1 AND since_ns > 0 GROUP BY file),
  calls AS (
    SELECT file, total(CASE WHEN reads(class) THEN bytes ELSE 0 END) AS bytes_read,
           total(CASE WHEN writes(class) AND NOT copies(class) THEN bytes ELSE 0 END) AS bytes_written,
           count(*) FILTER (makes_durable(class)) AS syncs
    FROM events
    WHERE file <> 0 AND duration_ns IS NOT NULL AND layer IN (SELECT asked_layer FROM asked_layers)
    GROUP BY file
  ),
  copied AS (
    SELECT to_file AS file, total(bytes) AS bytes FROM events
    WHERE to_file <> 0 AND copies(class) AND layer IN (SELECT asked_layer FROM asked_layers) GROUP BY to_file
  ),
  moved AS (SELECT file, total(bytes) AS bytes FROM links WHERE direction = 'write' AND completed_ns IS NOT NULL GROUP BY file)
SELECT n.file AS file, n.path AS path, c.pid AS pid, p.comm AS comm, c.created_ns AS created_ns, c.is_certain AS is_certain, r.removed_ns AS removed_ns,
       CASE WHEN r.removed_ns >= c.created_ns THEN minus(r.removed_ns, c.created_ns) END AS life_ns,
       CAST(least(coalesce(a.bytes_written, 0) + CAST(coalesce(o.bytes, 0) AS HUGEINT), 9223372036854775807) AS BIGINT) AS bytes_written,
       coalesce(a.bytes_read, 0) AS bytes_read, m.bytes AS device_bytes_written, coalesce(a.syncs, 0) AS syncs
FROM file_names AS n
  LEFT JOIN created AS c ON n.file = c.file
  LEFT JOIN removed AS r ON n.file = r.file
  LEFT JOIN calls AS a ON n.file = a.file
  LEFT JOIN copied AS o ON n.file = o.file
  LEFT JOIN moved AS m ON n.file = m.file
  LEFT JOIN programs AS p ON c.pid = p.program_pid
WHERE (c.created_ns IS NOT NULL OR r.removed_ns IS NOT NULL) AND n.file NOT IN (SELECT file FROM files_without_device);

-- Who waited for whom: for calls that make data durable, one row per process, call and file, and writer,
-- file and cause of the bytes that they submitted or waited for.
--   pid, comm         the process that called
--   call, path        its call, and the name of the file; NULL: all files, as for sync
--   writer, writer_comm   the process that wrote the bytes; 0, NULL: unknown
--   writer_path       their file; NULL: none, as for metadata
--   cause             as in links
--   is_own            1: the caller wrote them; 0: another process, or unknown
--   syncs             number of calls that did
--   bytes, requests   the bytes, and the number of bios, or parts of bios
--   until_ns          sum over the calls of the time from their begin until the last of these bytes was on the device
CREATE VIEW sync_waits AS
WITH
  syncs AS (
    SELECT op_id, any_value(pid) AS pid, any_value(coalesce(call, class)) AS call, any_value(file) AS file, min(ts_ns) AS ts_ns,
           max(plus(ts_ns, duration_ns)) AS until_ns
    FROM events
    WHERE op_id <> 0 AND duration_ns IS NOT NULL AND makes_durable(class) AND layer IN (SELECT asked_layer FROM asked_layers)
    GROUP BY op_id
  ),
  waited AS (
    SELECT s.op_id AS op_id, any_value(s.pid) AS pid, any_value(s.call) AS call, any_value(s.file) AS file, l.writer AS writer, l.file AS writer_file,
           l.cause AS cause, sum(l.bytes) AS bytes, count(*) AS requests, minus(least(max(l.until_ns), any_value(s.until_ns)), any_value(s.ts_ns)) AS ns
    FROM sync_links AS l JOIN syncs AS s ON l.op_id = s.op_id
    GROUP BY s.op_id, l.writer, l.file, l.cause
  ),
  sums AS (
    SELECT pid, call, file, writer, writer_file, cause, count(*) AS syncs, total(bytes) AS bytes, total(requests) AS requests, total(ns) AS until_ns
    FROM waited
    GROUP BY pid, call, file, writer, writer_file, cause
  )
SELECT s.pid AS pid, p.comm AS comm, s.call AS call, n.path AS path, s.writer AS writer, w.comm AS writer_comm, o.path AS writer_path,
       s.cause AS cause, CASE WHEN s.writer = s.pid THEN 1 ELSE 0 END AS is_own, s.syncs AS syncs, s.bytes AS bytes, s.requests AS requests, s.until_ns AS until_ns
FROM sums AS s
  LEFT JOIN programs AS p ON s.pid = p.program_pid
  LEFT JOIN programs AS w ON s.writer = w.program_pid
  LEFT JOIN file_names AS n ON s.file = n.file
  LEFT JOIN file_names AS o ON s.writer_file = o.file;

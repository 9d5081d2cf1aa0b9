-- Reads and writes of files, by calls and by bios, with the process that caused each: one row per call that moved
-- bytes at a known position (two for a copy between files), and one per bio with bytes of a file.
--   ts_ns             begin of the call; for a bio, when it was queued (CLOCK_MONOTONIC)
--   file              key of files
--   is_bio            true: a bio; false: a call
--   is_read           true: it read; false: it wrote
--   position          first byte in the file; for a bio, on the disk
--   bytes             length
--   device            for a bio, the whole disk; 0: a call
--   pid, comm         the process that called; for a bio, the one that caused the most of its bytes, as in links,
--                     with its name when it did
--   is_submitter      true: no process is known to have caused the bio, and pid is the one that queued it
-- A call counts once, at the layer that sees it first. Calls in layer vfs count where no system call or asynchronous
-- operation has them, as for files that the kernel itself reads.
CREATE VIEW file_log AS
WITH
  of_calls AS (
    SELECT * FROM file_accesses WHERE layer IN (layer_at('kernel'), layer_at('later'))
  ),
  calls AS (
    SELECT * FROM of_calls
    UNION ALL
    SELECT * FROM file_accesses WHERE layer = layer_at('files') AND (op_id = 0 OR op_id NOT IN (SELECT op_id FROM of_calls))
  ),
  bios AS (
    SELECT * FROM file_accesses WHERE layer = layer_at('devices')
  ),
  shares AS (
    SELECT b.ts_ns AS ts_ns, b.device AS device, b.position AS position, l.pid AS pid, total(l.bytes) AS bytes,
           max(coalesce(l.stored_ns, l.ts_ns)) AS caused_ns
    FROM bios AS b JOIN links AS l ON b.ts_ns = l.ts_ns AND b.device = l.device
    WHERE l.device_position >= b.position AND l.device_position < plus(b.position, b.bytes) AND l.is_remainder = 0 AND l.pid <> 0
    GROUP BY b.ts_ns, b.device, b.position, l.pid
  ),
  owners AS (
    SELECT ts_ns, device, position, arg_max(pid, bytes) AS pid, arg_max(caused_ns, bytes) AS caused_ns FROM shares GROUP BY ts_ns, device, position
  ),
  found AS (
    SELECT ts_ns, file, false AS is_bio, is_read, position, bytes, device, pid, ts_ns AS caused_ns, false AS is_submitter FROM calls
    UNION ALL
    SELECT b.ts_ns, b.file, true, b.is_read, b.position, b.bytes, b.device, coalesce(o.pid, b.pid), coalesce(o.caused_ns, b.ts_ns), o.pid IS NULL
    FROM bios AS b LEFT JOIN owners AS o ON b.ts_ns = o.ts_ns AND b.device = o.device AND b.position = o.position
  ),
  named AS (
    SELECT f.*, p.comm AS comm FROM found AS f ASOF LEFT JOIN processes AS p ON f.pid = p.pid AND f.caused_ns >= p.since_ns
  )
SELECT n.ts_ns AS ts_ns, n.file AS file, n.is_bio AS is_bio, n.is_read AS is_read, n.position AS position, n.bytes AS bytes, n.device AS device,
       n.pid AS pid, coalesce(n.comm, p.comm, '') AS comm, n.is_submitter AS is_submitter
FROM named AS n LEFT JOIN programs AS p ON n.pid = p.program_pid;

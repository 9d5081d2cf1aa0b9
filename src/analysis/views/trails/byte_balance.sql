-- The difference between bytes moved by calls and by devices, explained part by part: one row per
-- direction, part, process and file. The rows of a direction add up to what the devices completed.
-- It covers the whole trace, and is empty without block events.
--   direction     'write' or 'read'
--   step          order of the parts, from the calls to the device
--   part          the part; balance_parts has the meanings
--   pid, file     the process and the file; 0: unknown, or none
--   bytes         negative: the devices moved fewer bytes
-- Computed from the bytes moved by calls, the fates of written bytes, and links; parts of 0 are
-- omitted.

-- One row per part, in order.
--   direction, step, part   as in byte_balance
--   cause     its cause in links; NULL: none
--   meaning   explanation
CREATE TABLE balance_parts (direction VARCHAR, step INTEGER, part VARCHAR, cause VARCHAR, meaning VARCHAR);
INSERT INTO balance_parts VALUES
  ('write', 1, 'written by calls', NULL, 'to files'),
  ('write', 2, 'not followed', NULL, 'where a call wrote is not known'),
  ('write', 3, 'stored through mappings', NULL, 'whole pages'),
  ('write', 4, 'written by others', NULL, 'by processes that are not in the trace'),
  ('write', 5, 'overwritten', NULL, 'before they were written back'),
  ('write', 6, 'dropped', NULL, 'truncated or deleted before they were written back'),
  ('write', 7, 'still in the cache', NULL, 'when the recording ended'),
  ('write', 8, 'under way', NULL, 'handed to a device; their end is not in the trace'),
  ('write', 9, 'handed on', NULL, 'by disks that are made of others, to each of those'),
  ('write', 10, 'saved', NULL, 'the file system compressed them'),
  ('write', 11, 'in metadata', NULL, 'the file system keeps small files there'),
  ('read', 1, 'read by calls', NULL, 'of files'),
  ('read', 2, 'read ahead for them', NULL, 'a device had brought it before a call asked for it'),
  ('read', 3, 'found in the cache', NULL, 'or in holes, or in files that are in memory'),
  ('read', 8, 'under way', NULL, 'asked of a device; their end is not in the trace'),
  ('read', 9, 'handed on', NULL, 'to disks that are made of others, by those'),
  ('read', 10, 'saved', NULL, 'they are compressed on the device');
INSERT INTO balance_parts
SELECT direction, 20 + number, part, cause, meaning
FROM (SELECT cause, number, meaning,
             CASE cause WHEN 'rounding' THEN 'rest of their pages' WHEN 'along' THEN 'rest of their folios'
               WHEN 'read_ahead' THEN 'read ahead' WHEN 'mapped_read' THEN 'touched in mappings' WHEN 'outside' THEN 'read by others' WHEN 'kernel_thread' THEN 'by kernel threads'
               WHEN 'metadata' THEN 'metadata and journal' WHEN 'request' THEN 'of requests without bios'
               WHEN 'dirty_before' THEN 'dirty before, or by others' WHEN 'other_metadata' THEN 'metadata for others'
               WHEN 'no_bio' THEN 'of others in one request' ELSE cause END AS part
      FROM causes) AS c
  CROSS JOIN (SELECT 'write' AS direction UNION ALL SELECT 'read') AS d;

CREATE VIEW byte_balance AS
WITH
  flows AS (
    SELECT class, pid, file, to_file, bytes
    FROM all_events
    WHERE is_asked(layer) AND moves_bytes(class)
      AND duration_ns IS NOT NULL AND error >= 0
  ),
  sides AS (
    SELECT CASE WHEN copies(class) THEN 'read' ELSE class END AS direction, pid, file, bytes FROM flows
    UNION ALL
    SELECT 'write' AS direction, pid, to_file AS file, bytes FROM flows WHERE copies(class)
  ),
  calls AS (
    SELECT direction, pid, file, sum(CAST(bytes AS HUGEINT)) AS bytes
    FROM sides
    WHERE bytes > 0 AND file NOT IN (SELECT file FROM files_without_device)
    GROUP BY direction, pid, file
  ),
  fates AS (
    SELECT pid, file, CAST(written AS HUGEINT) AS written, CAST(mapped AS HUGEINT) AS mapped, CAST(outside AS HUGEINT) AS outside,
           CAST(absorbed AS HUGEINT) AS absorbed, CAST(dropped AS HUGEINT) AS dropped, CAST(inlined AS HUGEINT) AS inlined,
           CAST(pending AS HUGEINT) AS pending
    FROM found_fates()
    WHERE file NOT IN (SELECT file FROM files_without_device) AND file NOT IN (SELECT file FROM disk_caches)
  ),
  -- is_own: bytes of the program's own, which earlier parts already contain.
  moved AS (
    SELECT direction, cause, pid, file, completed_ns IS NOT NULL AS is_completed, is_repeat,
           cause IN ('direct', 'read', 'write_back', 'compressed', 'mapped') OR cause = 'outside' AND direction = 'write' AS is_own,
           sum(CAST(bytes AS HUGEINT)) AS bytes, sum(CAST(used_bytes AS HUGEINT)) AS used_bytes,
           sum(CAST(coalesce(plain_bytes, bytes) AS HUGEINT)) AS plain_bytes
    FROM found_links()
    WHERE direction IN ('read', 'write')
    GROUP BY ALL
  ),
  -- The calls' bytes that the analysis followed: into the cache, or past it.
  followed AS (
    SELECT 'write' AS direction, pid, file, written - mapped - outside AS bytes FROM fates
    UNION ALL
    SELECT direction, pid, file, plain_bytes AS bytes FROM moved
    WHERE (cause IN ('direct', 'read') OR cause = 'compressed' AND direction = 'read') AND is_repeat = 0
  ),
  parts AS (
    SELECT direction, 1 AS step, pid, file, bytes FROM calls
    UNION ALL
    SELECT direction, CASE direction WHEN 'read' THEN 3 ELSE 2 END AS step, pid, file, -bytes AS bytes FROM calls
    UNION ALL
    SELECT direction, CASE direction WHEN 'read' THEN 3 ELSE 2 END AS step, pid, file, bytes FROM followed
    UNION ALL
    SELECT direction, 2 AS step, pid, file, -used_bytes AS bytes FROM moved WHERE cause = 'read_ahead' AND is_repeat = 0
    UNION ALL
    SELECT direction, 3 AS step, pid, file, used_bytes AS bytes FROM moved WHERE cause = 'read_ahead' AND is_repeat = 0
    UNION ALL
    SELECT 'write' AS direction, 3 AS step, pid, file, mapped AS bytes FROM fates
    UNION ALL
    SELECT 'write' AS direction, 4 AS step, pid, file, outside AS bytes FROM fates
    UNION ALL
    SELECT 'write' AS direction, 5 AS step, pid, file, -absorbed AS bytes FROM fates
    UNION ALL
    SELECT 'write' AS direction, 6 AS step, pid, file, -dropped AS bytes FROM fates
    UNION ALL
    SELECT 'write' AS direction, 7 AS step, pid, file, -pending AS bytes FROM fates
    UNION ALL
    SELECT direction, 8 AS step, pid, file, -bytes AS bytes FROM moved WHERE is_own AND NOT is_completed AND is_repeat = 0
    UNION ALL
    SELECT direction, 9 AS step, pid, file, bytes FROM moved WHERE is_own AND is_completed AND is_repeat = 1
    UNION ALL
    SELECT direction, 10 AS step, pid, file, bytes - plain_bytes AS bytes FROM moved WHERE is_own AND is_repeat = 0
    UNION ALL
    SELECT 'write' AS direction, 11 AS step, pid, file, -inlined AS bytes FROM fates
    UNION ALL
    SELECT m.direction AS direction, p.step AS step, m.pid AS pid, m.file AS file, m.bytes AS bytes
    FROM moved AS m JOIN balance_parts AS p ON m.direction = p.direction AND m.cause = p.cause
    WHERE m.is_completed AND NOT m.is_own
  )
SELECT s.direction AS direction, s.step AS step, b.part AS part, s.pid AS pid, s.file AS file, s.bytes AS bytes
FROM (SELECT direction, step, pid, file, sum(bytes) AS bytes FROM parts GROUP BY direction, step, pid, file) AS s
  JOIN balance_parts AS b ON s.direction = b.direction AND s.step = b.step
WHERE s.bytes <> 0 AND EXISTS (SELECT name FROM tables WHERE layer = layer_at('devices') AND row_count > 0);

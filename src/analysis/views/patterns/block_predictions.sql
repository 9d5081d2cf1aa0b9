-- Where accesses of files meet the disk, predicted from the allocations in the trace (fs_allocate) and compared
-- with what happened: one row per file and direction. Files of ext4 and xfs; btrfs has addresses of its own.
--   file, path        key of the file, and its last name
--   direction         'read' or 'write'
--   accessed_bytes    bytes that calls moved at known positions
--   mapped_bytes      part of them with a known place on the disk
--   moved_bytes       bytes that devices moved of the file, at known positions
--   predicted_bytes   part of them with a known place
--   right_bytes       part of these that was there
--   right_share       right_bytes by predicted_bytes; NULL: nothing was predicted
--   device_begin      first byte of the file system on the disk, the most frequent difference between the
--                     prediction and the disk's own positions; NULL: unknown
-- If a range was allocated more than once, the last allocation that begins at a position counts.
CREATE VIEW block_predictions AS
WITH
  allocated AS (
    SELECT file, device, position, arg_max(bytes, ts_ns) AS bytes, arg_max(disk_offset, ts_ns) AS disk_offset
    FROM fs_allocate
    WHERE bytes > 0
    GROUP BY file, device, position
  ),
  extents AS (
    SELECT *, least(bytes, coalesce(minus(lead(position) OVER places, position), bytes)) AS mapped
    FROM allocated
    WINDOW places AS (PARTITION BY file, device ORDER BY position)
  ),
  summed AS (
    SELECT *, coalesce(sum(mapped) OVER (PARTITION BY file, device ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
    FROM extents
  ),
  accesses AS (
    SELECT file, is_read, position, plus(position, bytes) AS end_position, bytes FROM file_accesses WHERE layer IN (SELECT asked_layer FROM asked_layers)
  ),
  begun AS (
    SELECT a.*, coalesce(e.before + least(minus(a.position, e.position), e.mapped), 0) AS mapped_before
    FROM accesses AS a ASOF LEFT JOIN summed AS e ON a.file = e.file AND a.position >= e.position
  ),
  ended AS (
    SELECT b.*, coalesce(e.before + least(minus(b.end_position, e.position), e.mapped), 0) AS mapped_until
    FROM begun AS b ASOF LEFT JOIN summed AS e ON b.file = e.file AND b.end_position >= e.position
  ),
  calls AS (
    SELECT file, is_read, total(bytes) AS accessed_bytes, total(mapped_until - mapped_before) AS mapped_bytes FROM ended GROUP BY file, is_read
  ),
  moved AS (
    SELECT file, direction = 'read' AS is_read, CAST(position AS UBIGINT) AS position, bytes, device, device_position
    FROM links
    WHERE direction IN ('read', 'write') AND position >= 0 AND file <> 0 AND plain_bytes IS NULL AND completed_ns IS NOT NULL
  ),
  placed AS (
    SELECT m.*, e.device AS file_system,
           CASE WHEN minus(m.position, e.position) < e.mapped THEN CAST(e.disk_offset AS HUGEINT) + minus(m.position, e.position) END AS predicted,
           least(m.bytes, minus(e.mapped, minus(m.position, e.position))) AS predicted_bytes
    FROM moved AS m ASOF LEFT JOIN summed AS e ON m.file = e.file AND m.position >= e.position
  ),
  begins AS (
    SELECT device, file_system, mode(CAST(device_position AS HUGEINT) - predicted) AS device_begin
    FROM placed
    WHERE predicted IS NOT NULL
    GROUP BY device, file_system
  ),
  disks AS (
    SELECT p.file AS file, p.is_read AS is_read, total(p.bytes) AS moved_bytes,
           coalesce(total(CASE WHEN p.predicted IS NOT NULL THEN p.predicted_bytes END), 0) AS predicted_bytes,
           coalesce(total(CASE WHEN p.predicted + b.device_begin = p.device_position THEN p.predicted_bytes END), 0) AS right_bytes,
           any_value(b.device_begin) AS device_begin
    FROM placed AS p LEFT JOIN begins AS b ON p.device = b.device AND p.file_system = b.file_system
    GROUP BY p.file, p.is_read
  )
SELECT coalesce(c.file, d.file) AS file, n.path AS path, CASE WHEN coalesce(c.is_read, d.is_read) THEN 'read' ELSE 'write' END AS direction,
       coalesce(c.accessed_bytes, 0) AS accessed_bytes, coalesce(c.mapped_bytes, 0) AS mapped_bytes, coalesce(d.moved_bytes, 0) AS moved_bytes,
       coalesce(d.predicted_bytes, 0) AS predicted_bytes, coalesce(d.right_bytes, 0) AS right_bytes,
       d.right_bytes / nullif(d.predicted_bytes, 0) AS right_share,
       CASE WHEN d.device_begin IS NOT NULL
            THEN CAST(greatest(least(d.device_begin, 9223372036854775807), -9223372036854775807) AS BIGINT) END AS device_begin
FROM calls AS c
  FULL JOIN disks AS d ON c.file = d.file AND c.is_read = d.is_read
  LEFT JOIN file_names AS n ON coalesce(c.file, d.file) = n.file
WHERE coalesce(c.file, d.file) IN (SELECT file FROM fs_allocate);

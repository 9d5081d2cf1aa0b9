-- Disk allocations of files (fs_allocate) and their fragmentation: one row per file.
--   file, path            the file, and its name; NULL: unknown
--   device, device_name   the device of the file system
--   ranges                number of allocated ranges
--   bytes, disk_bytes     length in the file, and on the disk: less if data is compressed
--   unwritten_bytes       length in the file of unwritten ranges, such as reserved space
--   pieces                number of contiguous pieces: a range that continues the one before, in the file and
--                         on the disk, starts no new piece
--   mean_piece_bytes      mean length of a piece in the file
-- Reallocations (each write, on btrfs) and ranges freed since count as well. Earlier allocations of
-- the file are unknown: the pieces cover only what was allocated in the recording.
CREATE VIEW allocations AS
WITH
  ranges AS (
    SELECT a.file AS file, a.device AS device, a.bytes AS bytes, a.disk_bytes AS disk_bytes, a.allocation AS allocation,
           a.position AS starts_at, a.disk_offset AS disk_starts_at,
           lag(plus(a.position, a.bytes)) OVER (PARTITION BY a.file, a.device ORDER BY a.position, a.ts_ns) AS ended_at,
           lag(plus(a.disk_offset, a.disk_bytes))
             OVER (PARTITION BY a.file, a.device ORDER BY a.position, a.ts_ns) AS disk_ended_at
    FROM fs_allocate AS a
  ),
  sums AS (
    SELECT file, device, count(*) AS ranges, total(bytes) AS bytes, total(disk_bytes) AS disk_bytes,
           total(CASE allocation WHEN 'unwritten' THEN bytes ELSE 0 END) AS unwritten_bytes,
           sum(CASE WHEN starts_at = ended_at AND disk_starts_at = disk_ended_at THEN 0 ELSE 1 END) AS pieces
    FROM ranges
    GROUP BY file, device
  )
SELECT s.file AS file, n.path AS path, s.device AS device, nullif(d.name, '') AS device_name, s.ranges AS ranges, s.bytes AS bytes,
       s.disk_bytes AS disk_bytes, s.unwritten_bytes AS unwritten_bytes, CAST(s.pieces AS BIGINT) AS pieces,
       CAST(floor(least(s.bytes / s.pieces, 9e18)) AS BIGINT) AS mean_piece_bytes
FROM sums AS s
  LEFT JOIN file_names AS n ON s.file = n.file
  LEFT JOIN devices AS d ON s.device = d.device;

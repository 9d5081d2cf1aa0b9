-- Where file systems put the data of files (fs_allocate), one row a file: how much in how many pieces, which is how
-- fragmented it is.
--   file, path            the file, and its name; NULL: none known
--   device, device_name   the file system's
--   ranges                that were given a place
--   bytes, disk_bytes     of the file, and on the disk: fewer where data is compressed
--   unwritten_bytes       of the file: kept as zeros at first, as space that is reserved
--   pieces                ranges that do not go on, in the file and on the disk, where the one before in the file ends
--   mean_piece_bytes      of the file
-- What was given a place anew, as each write gives it on btrfs, and what has been given back since, counts as well. What
-- the file had before the recording is not told: the pieces are those of what was written.
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

-- What became of the bytes that a process wrote into the page cache, by file: written = to_device + absorbed + dropped +
-- pending. Of the whole trace; direct I/O is not here.
--   pid, file     who wrote, and key of the file
--   path          its last name
--   written       bytes
--   to_device     handed to a device
--   absorbed      overwritten before they were
--   dropped       their pages were given up, with what was truncated or deleted
--   pending       in the cache still when the recording ended
CREATE VIEW write_fates AS
SELECT f.pid AS pid, f.file AS file, n.path AS path, f.written AS written, f.to_device AS to_device,
       f.absorbed AS absorbed, f.dropped AS dropped, f.pending AS pending
FROM found_fates() AS f
  LEFT JOIN file_names AS n ON f.file = n.file
WHERE f.file NOT IN (SELECT file FROM files_without_device) AND f.file NOT IN (SELECT file FROM disk_caches);

-- The fate of bytes written into the page cache: one row per process and file, with written =
-- to_device + absorbed + dropped + pending. It covers the whole trace; direct I/O is excluded.
--   pid, file     the writer, and the key of the file
--   path          its last name
--   written       bytes written
--   to_device     bytes submitted to a device
--   absorbed      bytes overwritten before that
--   dropped       bytes dropped with their pages, by truncation or deletion
--   pending       bytes still in the cache at the end of the recording
CREATE VIEW write_fates AS
SELECT f.pid AS pid, f.file AS file, n.path AS path, f.written AS written, f.to_device AS to_device,
       f.absorbed AS absorbed, f.dropped AS dropped, f.pending AS pending
FROM found_fates() AS f
  LEFT JOIN file_names AS n ON f.file = n.file
WHERE f.file NOT IN (SELECT file FROM files_without_device) AND f.file NOT IN (SELECT file FROM disk_caches);

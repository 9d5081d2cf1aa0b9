-- The fate of bytes written into the page cache: one row per process and file, with written =
-- to_device + failed + absorbed + dropped + inlined + pending. It covers the whole trace; direct I/O is excluded.
-- It is empty if layer block was not recorded: then the fates are unknown.
--   pid, file     the writer, and the key of the file
--   path          its last name
--   written       bytes written
--   to_device     bytes submitted to a device, which did not fail
--   failed        bytes that a device failed to write
--   absorbed      bytes overwritten before that
--   dropped       bytes dropped with their pages, by truncation or deletion
--   inlined       bytes that a sync had written inside metadata of the file system: of small files on btrfs
--                 and ext4 (inline_data)
--   pending       bytes still in the cache at the end of the recording
CREATE VIEW write_fates AS
SELECT f.pid AS pid, f.file AS file, n.path AS path, f.written AS written, f.to_device AS to_device, f.failed AS failed,
       f.absorbed AS absorbed, f.dropped AS dropped, f.inlined AS inlined, f.pending AS pending
FROM found_fates() AS f
  LEFT JOIN file_names AS n ON f.file = n.file
WHERE f.file NOT IN (SELECT file FROM files_without_device) AND f.file NOT IN (SELECT file FROM disk_caches)
  AND (EXISTS (SELECT event FROM hooks WHERE event = 'block_queue' AND hook <> '') OR EXISTS (SELECT ts_ns FROM block_queue));

-- One row per file that never reaches a device: pipes, sockets, character devices, anonymous
-- inodes, streams in memory, and files of /proc and /sys.
--   file   key of files
CREATE VIEW files_without_device AS
SELECT file
FROM files
WHERE path LIKE '/proc/%' OR path LIKE '/sys/%' OR path LIKE 'anon_inode:%' OR path LIKE 'memory:%'
   OR choice_text('file_type', mode) IN ('fifo', 'character_device', 'socket');

-- One row per file for which the kernel does all the work: memory devices such as /dev/zero, and
-- files of /proc and /sys. No program or device makes a call on them wait.
--   file   key of files
CREATE VIEW pseudo_files AS
SELECT f.file AS file
FROM files AS f
  LEFT JOIN value_names AS v ON v.value_table = 'file_type' AND v.name = 'character_device' AND bitAnd(f.mode, v.mask) = v.number
WHERE f.path LIKE '/proc/%' OR f.path LIKE '/sys/%'
   OR v.name IS NOT NULL AND f.path IN ('/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom');

-- One row per kernel-internal file that caches metadata of a file system: disks, and an inode of
-- btrfs without a type. They have no name.
--   file   key of files
CREATE VIEW disk_caches AS
SELECT file
FROM files
WHERE path = '' AND inode <> 0
  AND choice_text('file_type', mode) IN ('0', 'block_device');

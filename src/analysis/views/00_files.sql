-- The files that never reach a device: pipes, sockets, character devices, anonymous inodes, and files of /proc and /sys.
CREATE VIEW files_without_device AS
SELECT file
FROM files
WHERE path LIKE '/proc/%' OR path LIKE '/sys/%' OR path LIKE 'anon_inode:%'
   OR file IN (SELECT f.file
               FROM files AS f
                 JOIN value_names AS v ON bitAnd(f.mode, v.mask) = v.number
               WHERE v.value_table = 'file_type' AND v.name IN ('fifo', 'character_device', 'socket'));

-- The pages of disks that file systems keep their metadata in: files of the kernel's own that have no name.
CREATE VIEW disk_caches AS
SELECT f.file AS file
FROM files AS f
  JOIN value_names AS v ON bitAnd(f.mode, v.mask) = v.number
WHERE f.path = '' AND v.value_table = 'file_type' AND v.name = 'block_device';

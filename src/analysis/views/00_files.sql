-- The files that never reach a device: pipes, sockets, character devices, anonymous inodes, and files of /proc and /sys.
-- The file type is the mode's highest four bits: 1 pipe, 2 character device, 12 socket.
CREATE VIEW files_without_device AS
SELECT file
FROM files
WHERE floor(mode / 4096) IN (1, 2, 12)
   OR path LIKE '/proc/%' OR path LIKE '/sys/%' OR path LIKE 'anon_inode:%';

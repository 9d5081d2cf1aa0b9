-- Disk images of virtual machines: one row per machine and image file, as last seen.
--   machine, pid            its name and its process; NULL: it has no name
--   drive                   id of the guest's device, else of the drive; NULL: unknown, as for a drive that was
--                           added while the machine ran
--   depth                   0: the drive's own image; 1: its backing file; 2: the backing file of that; ...
--   path, format            the image file and its format: 'raw', 'qcow2', 'other'
--   backing                 its backing file, as the image names it; NULL: none
--   guest_bytes             size of the guest's disk; 0: unknown
--   cluster_bytes           size of a cluster of QCOW2; 0: another format
--   is_mapped               1: the place of all of the guest's data in the file is known
--   device, inode           the file, as in files
--   snapshot, image         the key of its ranges in snapshot_vm_map
CREATE VIEW vm_images AS
WITH
  seen AS (
    SELECT *, row_number() OVER (PARTITION BY pid, device, inode ORDER BY snapshot DESC, image) AS place
    FROM snapshot_vm_image
  )
SELECT m.text AS machine, s.pid AS pid, d.text AS drive, s.depth AS depth, p.text AS path, s.format AS format, b.text AS backing,
       s.guest_bytes AS guest_bytes, s.cluster_bytes AS cluster_bytes, s.is_mapped AS is_mapped, s.device AS device,
       s.inode AS inode, s.snapshot AS snapshot, s.image AS image
FROM seen AS s
  LEFT JOIN strings AS m ON s.machine = m.string
  LEFT JOIN strings AS d ON s.drive = d.string
  LEFT JOIN strings AS p ON s.path = p.string
  LEFT JOIN strings AS b ON s.backing = b.string
WHERE s.place = 1;

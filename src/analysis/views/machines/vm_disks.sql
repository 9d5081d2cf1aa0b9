-- Virtual machines by their disk images: one row per machine and image file that it has open. Calls and
-- asynchronous operations count at the layers of asked_layers.
--   machine, pid, drive, depth, path, format, backing, guest_bytes, cluster_bytes, is_mapped   as in vm_images
--   operations                          reads and writes of the image file
--   data_bytes_read, data_bytes_written   data of the guest that they moved. A write of a part of a cluster may
--                                       copy the rest from the backing file: both count
--   metadata_bytes_read, metadata_bytes_written   metadata of the format: header, tables, refcounts
--   unknown_bytes_read, unknown_bytes_written     bytes that the tables of the image did not name when the
--                                       recording ended
--   device_bytes_read, device_bytes_written       bytes of the image file that devices moved for the machine; NULL:
--                                       bios were not recorded
CREATE VIEW vm_disks AS
WITH
  bios AS (SELECT count(*) > 0 AS has_bios FROM tables WHERE name = 'block_queue' AND row_count > 0),
  sums AS (
    SELECT snapshot, image, layer = layer_at('devices') AS is_device, direction, count(*) AS operations, total(bytes) AS bytes,
           total(data_bytes) AS data_bytes, total(metadata_bytes) AS metadata_bytes
    FROM vm_accesses
    WHERE layer = layer_at('devices') OR layer IN (SELECT asked_layer FROM asked_layers)
    GROUP BY snapshot, image, is_device, direction
  ),
  moved AS (
    SELECT snapshot, image, total(CASE WHEN NOT is_device THEN operations END) AS operations,
           total(CASE WHEN NOT is_device AND direction = 'read' THEN data_bytes END) AS data_bytes_read,
           total(CASE WHEN NOT is_device AND direction = 'write' THEN data_bytes END) AS data_bytes_written,
           total(CASE WHEN NOT is_device AND direction = 'read' THEN metadata_bytes END) AS metadata_bytes_read,
           total(CASE WHEN NOT is_device AND direction = 'write' THEN metadata_bytes END) AS metadata_bytes_written,
           total(CASE WHEN NOT is_device AND direction = 'read' THEN bytes END) AS bytes_read,
           total(CASE WHEN NOT is_device AND direction = 'write' THEN bytes END) AS bytes_written,
           total(CASE WHEN is_device AND direction = 'read' THEN bytes END) AS device_bytes_read,
           total(CASE WHEN is_device AND direction = 'write' THEN bytes END) AS device_bytes_written
    FROM sums
    GROUP BY snapshot, image
  )
SELECT i.machine AS machine, i.pid AS pid, i.drive AS drive, i.depth AS depth, i.path AS path, i.format AS format, i.backing AS backing,
       i.guest_bytes AS guest_bytes, i.cluster_bytes AS cluster_bytes, i.is_mapped AS is_mapped,
       coalesce(m.operations, 0) AS operations, coalesce(m.data_bytes_read, 0) AS data_bytes_read,
       coalesce(m.data_bytes_written, 0) AS data_bytes_written, coalesce(m.metadata_bytes_read, 0) AS metadata_bytes_read,
       coalesce(m.metadata_bytes_written, 0) AS metadata_bytes_written,
       minus(coalesce(m.bytes_read, 0), plus(coalesce(m.data_bytes_read, 0), coalesce(m.metadata_bytes_read, 0))) AS unknown_bytes_read,
       minus(coalesce(m.bytes_written, 0), plus(coalesce(m.data_bytes_written, 0), coalesce(m.metadata_bytes_written, 0))) AS unknown_bytes_written,
       CASE WHEN (SELECT has_bios FROM bios) THEN coalesce(m.device_bytes_read, 0) END AS device_bytes_read,
       CASE WHEN (SELECT has_bios FROM bios) THEN coalesce(m.device_bytes_written, 0) END AS device_bytes_written
FROM vm_images AS i LEFT JOIN moved AS m ON i.snapshot = m.snapshot AND i.image = m.image;

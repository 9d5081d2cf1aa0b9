-- Reads and writes of virtual machines in their disk images, with the place on the guest's disk: one row per
-- access in each recorded layer. In layer block, one row per cause of a completed bio, as in links.
--   layer             layer of the access
--   op_id, tid        as in events; for layer block, the operation that caused it, and 0
--   ts_ns, until_ns   its begin and end
--   machine, pid      the machine and its process
--   drive, depth      the drive, and 0 or the depth of a backing file, as in vm_images
--   file, path        key of files, and the image file
--   direction         'read' or 'write'
--   position, bytes   first byte and length, in the image file; position NULL: unknown, as for direct I/O with holes
--   content           what the first byte is: 'data', 'compressed', 'header', 'l1_table', 'l2_table', 'refcounts';
--                     NULL: unknown
--   guest_offset      where the first byte is on the guest's disk; for compressed data, the begin of the guest's
--                     cluster; NULL: it is no data of the guest, or unknown
--   data_bytes        part of bytes with data of the guest
--   metadata_bytes    part of bytes with metadata of the format; of the rest, the content is unknown
--   device, device_position   for layer block, the whole disk and the position on it; NULL: a call
--   snapshot, image   the key of the image in vm_images
-- The places are those in the tables of the image when the recording ended. QEMU takes the results of libaio from
-- memory, without a call. Such operations are included if the devices moved all of their bytes.
CREATE VIEW vm_accesses AS
WITH
  images AS (
    SELECT f.file AS image_file, i.machine AS machine, i.pid AS machine_pid, i.drive AS drive, i.depth AS depth, i.path AS path,
           i.snapshot AS snapshot, i.image AS image
    FROM vm_images AS i JOIN files AS f ON i.device = f.device AND i.inode = f.inode
  ),
  bios AS (
    SELECT op_id, pid, ts_ns, completed_ns, file, direction = 'read' AS is_read, position, bytes, device, device_position, cause = 'direct' AS is_direct,
           sum(bytes) OVER (PARTITION BY op_id, file, direction, cause = 'direct') AS op_bytes,
           max(completed_ns) OVER (PARTITION BY op_id, file, direction, cause = 'direct') AS op_until_ns,
           coalesce(sum(bytes) OVER (PARTITION BY op_id, file, direction, cause = 'direct' ORDER BY ts_ns, device_position
                                     ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
    FROM links
    WHERE direction IN ('read', 'write') AND completed_ns IS NOT NULL AND NOT is_error(error) AND plain_bytes IS NULL
      AND file IN (SELECT image_file FROM images)
  ),
  direct_sums AS (
    SELECT op_id, file, is_read, max(op_bytes) AS op_bytes, max(op_until_ns) AS op_until_ns
    FROM bios
    WHERE is_direct AND op_id <> 0
    GROUP BY op_id, file, is_read
  ),
  reaped AS (
    SELECT layer_at('later') AS layer, a.op_id AS op_id, a.pid AS pid, a.tid AS tid, a.ts_ns AS ts_ns, s.op_until_ns AS until_ns, a.file AS file,
           s.is_read AS is_read, CAST(a.position AS UBIGINT) AS position, a.bytes_requested AS bytes
    FROM async_operation AS a
      JOIN direct_sums AS s ON a.op_id = s.op_id AND a.file = s.file AND a.bytes_requested = s.op_bytes
    WHERE is_unfinished(a.result) AND a.position >= 0 AND a.call LIKE CASE WHEN s.is_read THEN 'IOCB_CMD_PREAD%' ELSE 'IOCB_CMD_PWRITE%' END
  ),
  calls AS (
    SELECT layer, op_id, pid, tid, ts_ns, until_ns, file, is_read, position, bytes
    FROM file_accesses
    WHERE layer <> layer_at('devices') AND file IN (SELECT image_file FROM images)
    UNION ALL
    SELECT layer, op_id, pid, tid, ts_ns, until_ns, file, is_read, position, bytes FROM reaped
  ),
  -- An operation has one range of a file. Its direct bios are in the order of the file.
  ranges_of_operations AS (
    SELECT op_id, file, is_read, min(position) AS op_position, max(bytes) AS op_bytes
    FROM calls
    WHERE op_id <> 0
    GROUP BY op_id, file, is_read
  ),
  moved AS (
    SELECT layer, op_id, pid, tid, ts_ns, until_ns, file, is_read, position, bytes, NULL AS device, NULL AS device_position FROM calls
    UNION ALL
    SELECT layer_at('devices') AS layer, b.op_id AS op_id, b.pid AS pid, 0 AS tid, b.ts_ns AS ts_ns, b.completed_ns AS until_ns, b.file AS file,
           b.is_read AS is_read,
           CASE WHEN b.position >= 0 THEN CAST(b.position AS UBIGINT) WHEN o.op_id IS NOT NULL THEN plus(o.op_position, b.bytes_before) END AS position,
           b.bytes AS bytes, b.device AS device, b.device_position AS device_position
    FROM bios AS b
      LEFT JOIN ranges_of_operations AS o ON b.is_direct AND b.op_id = o.op_id AND b.file = o.file AND b.is_read = o.is_read AND b.op_bytes = o.op_bytes
  ),
  accesses AS (
    SELECT m.*, plus(m.position, m.bytes) AS end_position, i.machine AS machine, i.machine_pid AS machine_pid, i.drive AS drive,
           i.depth AS depth, i.path AS path, i.snapshot AS snapshot, i.image AS image
    FROM moved AS m JOIN images AS i ON m.file = i.image_file AND m.pid = i.machine_pid
  ),
  ranges AS (
    SELECT snapshot, image, position, bytes, guest_offset, content, content IN ('data', 'compressed') AS is_data
    FROM snapshot_vm_map
  ),
  summed AS (
    SELECT *, coalesce(sum(CASE WHEN is_data THEN bytes ELSE 0 END) OVER rows_before, 0) AS data_before,
           coalesce(sum(CASE WHEN is_data THEN 0 ELSE bytes END) OVER rows_before, 0) AS metadata_before
    FROM ranges
    WINDOW rows_before AS (PARTITION BY snapshot, image ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  ),
  begun AS (
    SELECT a.*, r.content AS content_below, minus(a.position, r.position) < r.bytes AS is_in_range, r.guest_offset AS range_offset,
           minus(a.position, r.position) AS in_range,
           coalesce(r.data_before + CASE WHEN r.is_data THEN least(minus(a.position, r.position), r.bytes) ELSE 0 END, 0) AS data_begin,
           coalesce(r.metadata_before + CASE WHEN r.is_data THEN 0 ELSE least(minus(a.position, r.position), r.bytes) END, 0) AS metadata_begin
    FROM accesses AS a ASOF LEFT JOIN summed AS r ON a.snapshot = r.snapshot AND a.image = r.image AND a.position >= r.position
  ),
  ended AS (
    SELECT b.*,
           coalesce(r.data_before + CASE WHEN r.is_data THEN least(minus(b.end_position, r.position), r.bytes) ELSE 0 END, 0) - b.data_begin AS data_bytes,
           coalesce(r.metadata_before + CASE WHEN r.is_data THEN 0 ELSE least(minus(b.end_position, r.position), r.bytes) END, 0) - b.metadata_begin AS metadata_bytes
    FROM begun AS b ASOF LEFT JOIN summed AS r ON b.snapshot = r.snapshot AND b.image = r.image AND b.end_position >= r.position
  )
SELECT layer, op_id, tid, ts_ns, until_ns, machine, machine_pid AS pid, drive, depth, file, path, CASE WHEN is_read THEN 'read' ELSE 'write' END AS direction,
       position, bytes, CASE WHEN is_in_range THEN content_below END AS content,
       CASE WHEN is_in_range AND content_below = 'data' THEN plus(greatest(range_offset, 0), in_range)
            WHEN is_in_range AND content_below = 'compressed' THEN CAST(greatest(range_offset, 0) AS UBIGINT) END AS guest_offset,
       CAST(greatest(least(data_bytes, bytes), 0) AS UBIGINT) AS data_bytes, CAST(greatest(least(metadata_bytes, bytes), 0) AS UBIGINT) AS metadata_bytes,
       device, device_position, snapshot, image
FROM ended;

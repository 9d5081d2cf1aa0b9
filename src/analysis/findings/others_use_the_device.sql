-- id: F50
-- title: others use the device
-- shown: device_causes
-- severity: note
-- needs: block
-- limit: bytes = 16777216; fewer bytes are no finding
-- limit: share = 0.5; of the device's bytes, the part that must be of others
-- sentence: {others_share} of the {all_bytes} that {subject} moved ({direction}) were not of the recorded programs and files.
-- advice: Record the device (`iotrail record --device`) to see who it was; io.weight of control groups shares the device between
--   them.
WITH outside AS (SELECT device_name, direction, total(bytes) AS bytes FROM device_causes WHERE cause = 'outside' GROUP BY device_name, direction),
  sums AS (
    SELECT b.device_name AS subject, b.direction AS direction, b.counted AS all_bytes, greatest(b.absent, 0) + coalesce(o.bytes, 0) AS bytes
    FROM disk_balance AS b LEFT JOIN outside AS o ON b.device_name = o.device_name AND b.direction = o.direction
    WHERE b.recorded = 'followed' AND b.unit = 'bytes' AND b.counted > 0 AND b.device IN (SELECT device FROM disk_balance WHERE in_trace > 0)
  )
SELECT subject, direction, bytes, all_bytes, bytes / all_bytes AS others_share, CAST(0 AS BIGINT) AS could_save_ns, CAST(NULL AS UBIGINT) AS op_id
FROM sums
WHERE bytes >= $bytes AND bytes >= $share * all_bytes
ORDER BY subject, direction

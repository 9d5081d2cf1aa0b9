-- id: F50
-- title: others use the device
-- shown: device_causes
-- severity: note
-- needs: block
-- limit: bytes = 16777216; fewer bytes are no finding
-- limit: share = 0.5; of the device's bytes, the part that must be of others
-- sentence: {others_share} of the {all_bytes} that {subject} moved ({direction}) were of programs that were not recorded.
-- advice: Record the device (`iotrail record --device`) to see who it was; io.weight of a control group shares it out.
WITH sums AS (
  SELECT coalesce(device_name, 'a device') AS subject, direction, total(CASE WHEN cause = 'outside' THEN bytes ELSE 0 END) AS bytes, total(bytes) AS all_bytes
  FROM device_causes
  GROUP BY subject, direction
)
SELECT subject, direction, bytes, all_bytes, bytes / all_bytes AS others_share, CAST(0 AS BIGINT) AS could_save_ns, CAST(NULL AS UBIGINT) AS op_id
FROM sums
WHERE bytes >= $bytes AND bytes >= $share * all_bytes

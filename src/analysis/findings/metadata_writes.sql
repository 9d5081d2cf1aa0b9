-- id: F19
-- title: more metadata than data
-- shown: device_causes
-- severity: note
-- needs: block
-- limit: bytes = 4194304; less metadata written is no finding
-- sentence: {subject} wrote {bytes} of metadata, with the journal, and {data_bytes} of data.
-- advice: Change fewer files at a time, sync less often, mount with noatime.
WITH sums AS (
  SELECT coalesce(device_name, 'the disk') AS subject, total(CASE WHEN cause IN ('metadata', 'other_metadata') THEN bytes ELSE 0 END) AS bytes,
         total(CASE WHEN cause IN ('metadata', 'other_metadata') THEN 0 ELSE bytes END) AS data_bytes
  FROM device_causes
  WHERE direction = 'write'
  GROUP BY subject
)
SELECT *, CAST(0 AS BIGINT) AS could_save_ns, CAST(NULL AS UBIGINT) AS op_id FROM sums WHERE bytes >= $bytes AND bytes > data_bytes

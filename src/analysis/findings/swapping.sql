-- id: F49
-- title: swapping
-- shown: device_causes
-- severity: warning
-- needs: block
-- limit: bytes = 16777216; fewer bytes are no finding
-- sentence: {bytes} of swapped memory moved to or from {subject} ({direction}).
-- advice: The machine needs more memory, or fewer programs at once.
SELECT coalesce(device_name, 'a device') AS subject, direction, total(bytes) AS bytes, CAST(0 AS BIGINT) AS could_save_ns, CAST(NULL AS UBIGINT) AS op_id
FROM device_causes
WHERE cause = 'swap'
GROUP BY subject, direction
HAVING total(bytes) >= $bytes
ORDER BY subject, direction

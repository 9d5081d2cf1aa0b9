-- id: F18
-- title: writes that grow on their way to the disk
-- shown: byte_balance
-- severity: warning
-- needs: calls, block
-- limit: bytes = 16777216; less written to the disk is no finding
-- limit: ratio = 2; growth by a smaller factor is no finding
-- limit: share = 0.5; of the growth, the part that the largest cause must explain
-- sentence: For {calls_bytes} written by calls, {subject} wrote {bytes} ({ratio}). The largest part beside the data is {cause}: {cause_bytes}.
-- advice: Sync less often, write whole blocks, and change fewer files. The view device_causes has the parts.
WITH
  -- Not what others wrote, nor what has no cause.
  written AS (
    SELECT coalesce(device_name, 'the disk') AS device, cause, total(bytes) AS bytes
    FROM device_causes
    WHERE direction = 'write' AND is_remainder = 0 AND cause NOT IN ('outside', 'kernel_thread', 'swap')
    GROUP BY device, cause
  ),
  devices_written AS (
    SELECT device, total(bytes) AS bytes, arg_max(cause, bytes) FILTER (cause NOT IN ('write_back', 'compressed', 'direct', 'mapped')) AS cause,
           max(bytes) FILTER (cause NOT IN ('write_back', 'compressed', 'direct', 'mapped')) AS cause_bytes
    FROM written
    GROUP BY device
  ),
  calls AS (SELECT total(bytes) AS bytes FROM file_calls WHERE writes(class))
SELECT d.device AS subject, c.bytes AS calls_bytes, d.bytes AS bytes, d.bytes / c.bytes AS ratio,
       CASE d.cause WHEN 'rounding' THEN 'the rest of pages' WHEN 'along' THEN 'the rest of folios' ELSE replace(d.cause, '_', ' ') END AS cause,
       d.cause_bytes AS cause_bytes,
       CAST(0 AS BIGINT) AS could_save_ns, CAST(NULL AS UBIGINT) AS op_id
FROM devices_written AS d CROSS JOIN calls AS c
WHERE c.bytes > 0 AND d.bytes >= $bytes AND d.bytes >= $ratio * c.bytes AND d.cause_bytes >= $share * (d.bytes - c.bytes)

-- id: F18
-- title: writes that grow on their way to the disk
-- shown: byte_balance
-- severity: warning
-- needs: calls, block
-- limit: bytes = 16777216; less written to the disk is no finding
-- limit: ratio = 2; growth by a smaller factor is no finding
-- limit: share = 0.5; of the growth, the part that the largest cause must explain
-- sentence: For {calls_bytes} written by calls[, {mapped_bytes} in pages of mappings][, {copied_bytes} copied or zeroed by the kernel], {subject} wrote {bytes} ({ratio}). The largest part beside the data is {cause}: {cause_bytes}.
-- advice: Sync less often, write whole blocks, and change fewer files. The view device_causes has the parts.
WITH
  -- Not what others wrote, nor what has no cause. The kernel copies the data of calls that do not write, as overlayfs does.
  written AS (
    SELECT coalesce(device_name, 'the disk') AS device, cause, cause IN ('write_back', 'compressed') AND call <> 'other' AND NOT writes(call) AS is_copied,
           total(bytes) AS bytes
    FROM device_causes
    WHERE direction = 'write' AND is_remainder = 0 AND cause NOT IN ('outside', 'kernel_thread', 'swap')
    GROUP BY device, cause, is_copied
  ),
  devices_written AS (
    SELECT device, total(bytes) AS bytes, arg_max(cause, bytes) FILTER (cause NOT IN ('write_back', 'compressed', 'direct', 'mapped')) AS cause,
           max(bytes) FILTER (cause NOT IN ('write_back', 'compressed', 'direct', 'mapped')) AS cause_bytes,
           sum(bytes) FILTER (cause = 'mapped') AS mapped_bytes, sum(bytes) FILTER (is_copied) AS copied_bytes
    FROM written
    GROUP BY device
  ),
  calls AS (SELECT total(bytes) AS bytes FROM file_calls WHERE writes(class)),
  sums AS (SELECT d.*, c.bytes AS calls_bytes, c.bytes + coalesce(d.mapped_bytes, 0) + coalesce(d.copied_bytes, 0) AS stored_bytes FROM devices_written AS d CROSS JOIN calls AS c)
SELECT device AS subject, calls_bytes, CAST(mapped_bytes AS BIGINT) AS mapped_bytes, CAST(copied_bytes AS BIGINT) AS copied_bytes, bytes, bytes / stored_bytes AS ratio,
       CASE cause WHEN 'rounding' THEN 'the rest of pages' WHEN 'along' THEN 'the rest of folios' ELSE replace(cause, '_', ' ') END AS cause,
       cause_bytes, CAST(0 AS BIGINT) AS could_save_ns, CAST(NULL AS UBIGINT) AS op_id
FROM sums
WHERE calls_bytes > 0 AND bytes >= $bytes AND bytes >= $ratio * stored_bytes AND cause_bytes >= $share * (bytes - stored_bytes)

-- id: F47
-- title: requests cut by the device's limit
-- shown: devices
-- severity: note
-- needs: block_split
-- limit: splits = 100; fewer are no finding
-- rows: block_split >= $splits
-- sentence: {splits} requests were larger than {subject} takes and were cut, at {mean_bytes} on average.
-- advice: Raise max_sectors_kb of the device, or ask for less at once.
SELECT coalesce(d.name, 'a device') AS subject, count(*) AS splits, mean(s.bytes) AS mean_bytes, CAST(0 AS BIGINT) AS could_save_ns, min(s.op_id) AS op_id
FROM block_split AS s LEFT JOIN devices AS d ON s.device = d.device
GROUP BY subject
HAVING count(*) >= $splits

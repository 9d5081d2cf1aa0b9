-- id: F47
-- title: requests cut by the device's limit
-- shown: devices
-- severity: note
-- needs: block_split
-- limit: splits = 100; fewer are no finding
-- rows: block_split >= $splits
-- sentence: {subject} takes smaller requests than it was given: the kernel cut them {splits} times, after {mean_bytes} on average.
-- advice: Raise max_sectors_kb of the device (at most to max_hw_sectors_kb), or ask for less at once.
SELECT coalesce(d.name, 'a device') AS subject, count(*) AS splits, mean(s.bytes) AS mean_bytes, CAST(0 AS BIGINT) AS could_save_ns, min(nullif(s.op_id, 0)) AS op_id
FROM block_split AS s LEFT JOIN devices AS d ON s.device = d.device
WHERE choice_text('block', s.flags) IN ('read', 'write')
GROUP BY subject
HAVING count(*) >= $splits

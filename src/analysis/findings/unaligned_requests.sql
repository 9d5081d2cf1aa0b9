-- id: F15
-- title: I/O that is not aligned to the disk
-- shown: devices
-- severity: warning
-- needs: block
-- limit: requests = 100; fewer unaligned requests are no finding
-- limit: share = 0.1; of all requests, the part that must be unaligned
-- limit: block_bytes = 4096; the block to which I/O should be aligned
-- rows: block_issue >= $requests
-- sentence: {unaligned} of {requests} requests of {program} to {subject} begin or end inside a block of {block_bytes}.
-- advice: Align the partition, the position and the size of I/O to 4096 bytes.
SELECT coalesce(p.comm, 'pid ' || b.pid) AS program, coalesce(d.name, 'a device') AS subject, count(*) AS requests,
       count(*) FILTER (b.sector % (CAST($block_bytes AS UBIGINT) // 512) <> 0 OR b.bytes % CAST($block_bytes AS UBIGINT) <> 0) AS unaligned, CAST($block_bytes AS UBIGINT) AS block_bytes,
       CAST(0 AS BIGINT) AS could_save_ns, min(b.op_id) AS op_id
FROM block_issue AS b LEFT JOIN programs AS p ON b.pid = p.program_pid LEFT JOIN devices AS d ON b.device = d.device
WHERE b.bytes > 0 AND b.op_id <> 0
GROUP BY program, subject
HAVING count(*) FILTER (b.sector % (CAST($block_bytes AS UBIGINT) // 512) <> 0 OR b.bytes % CAST($block_bytes AS UBIGINT) <> 0) >= greatest($requests, $share * count(*))

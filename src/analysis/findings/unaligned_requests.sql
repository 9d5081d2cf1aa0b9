-- id: F15
-- title: I/O that is not aligned to the disk
-- shown: devices
-- severity: warning
-- needs: block
-- limit: requests = 100; fewer unaligned requests are no finding
-- limit: share = 0.1; of all requests, the part that must be unaligned
-- rows: block_issue >= $requests
-- sentence: {unaligned} of {requests} requests of {program} to {subject} begin or end inside one of its physical blocks of {block_bytes}.
-- advice: Align the partition, the position and the size of I/O to the disk's physical blocks.
WITH
  -- The blocks of a disk that does not report them are unknown.
  requests AS (
    SELECT coalesce(p.comm, 'pid ' || b.pid) AS program, coalesce(d.name, 'a device') AS subject, b.op_id AS op_id, d.physical_block_bytes AS block_bytes,
           (b.sector * 512) % d.physical_block_bytes <> 0 OR b.bytes % d.physical_block_bytes <> 0 AS is_unaligned
    FROM block_issue AS b JOIN devices AS d ON b.device = d.device LEFT JOIN programs AS p ON b.pid = p.program_pid
    WHERE b.bytes > 0 AND b.op_id <> 0 AND d.physical_block_bytes > 0
  )
SELECT program, subject, count(*) AS requests, count(*) FILTER (is_unaligned) AS unaligned, block_bytes,
       CAST(0 AS BIGINT) AS could_save_ns, min(op_id) AS op_id
FROM requests
GROUP BY program, subject, block_bytes
HAVING count(*) FILTER (is_unaligned) >= greatest($requests, $share * count(*))

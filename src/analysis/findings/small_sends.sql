-- id: F40
-- title: small sends
-- shown: sizes
-- severity: note
-- needs: calls
-- limit: operations = 1000; fewer sends are no finding
-- limit: bytes = 512; larger sends are no finding
-- rows: syscall_connection
-- rows: syscall or syscall_copy >= $operations
-- sentence: {program} sent {sent_bytes} to {subject} in {operations} calls, {mean_bytes} each.
-- advice: Collect the data: writev, and for TCP MSG_MORE or TCP_CORK.
SELECT coalesce(comm, 'pid ' || pid) AS program, coalesce(address, 'peers without a known address') AS subject,
       total(sends) AS operations, total(sent) AS sent_bytes, total(sent) // nullif(total(sends), 0) AS mean_bytes,
       CAST(0 AS BIGINT) AS could_save_ns, CAST(NULL AS UBIGINT) AS op_id
FROM connections
WHERE sent > 0 AND (address IS NULL OR address NOT LIKE 'unix:%')
GROUP BY program, address
HAVING total(sends) >= $operations AND total(sent) < $bytes * total(sends)

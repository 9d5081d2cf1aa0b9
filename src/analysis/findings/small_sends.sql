-- id: F40
-- title: small sends over TCP
-- shown: sizes
-- severity: note
-- needs: calls
-- limit: operations = 1000; fewer sends are no finding
-- limit: bytes = 512; larger sends are no finding
-- rows: syscall_connection
-- rows: syscall or syscall_copy >= $operations
-- sentence: {program} exchanged {sent_bytes} with {subject} in {operations} calls.
-- advice: Collect the data: TCP_CORK, MSG_MORE, writev.
SELECT coalesce(comm, 'pid ' || pid) AS program, address AS subject, total(operations) AS operations, total(sent) AS sent_bytes,
       CAST(0 AS BIGINT) AS could_save_ns, CAST(NULL AS UBIGINT) AS op_id
FROM connections
WHERE sent > 0
GROUP BY program, address
HAVING total(operations) >= $operations AND total(sent) < $bytes * total(operations)

-- id: F13
-- title: the page cache is too small
-- shown: read_ahead
-- severity: warning
-- needs: cache
-- limit: bytes = 16777216; fewer bytes read again are no finding
-- limit: share = 0.2; of the bytes dropped for lack of memory, the part that must be read again
-- rows: cache_delete.bytes >= $bytes
-- sentence: {bytes} of {subject} were dropped for lack of memory and read again, the first after {shortest_ns}.
-- advice: Give it more memory (memory.high, RAM), or read large files once with O_DIRECT or POSIX_FADV_NOREUSE.
SELECT path AS subject, refault_bytes AS bytes, evicted_bytes, shortest_ns, CAST(0 AS BIGINT) AS could_save_ns, CAST(NULL AS UBIGINT) AS op_id
FROM refaults
WHERE refault_bytes >= $bytes AND refault_bytes >= $share * evicted_bytes

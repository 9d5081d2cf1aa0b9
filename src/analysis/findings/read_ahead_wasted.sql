-- id: F06
-- title: unused read-ahead
-- shown: read_ahead
-- severity: warning
-- needs: calls, cache, block
-- merges: random reads
-- limit: bytes = 16777216; less read ahead is no finding
-- limit: share = 0.5; of the bytes read ahead, the part that must be unused
-- sentence: The kernel read {bytes} of {subject} ahead; {used_share} of it was used.
-- advice: Say that access is random: posix_fadvise(POSIX_FADV_RANDOM), or a smaller read_ahead_kb of the device.
SELECT path AS subject, ahead AS bytes, used AS used_bytes, used / ahead AS used_share, CAST(0 AS BIGINT) AS could_save_ns, CAST(NULL AS UBIGINT) AS op_id
FROM read_ahead
WHERE ahead >= $bytes AND unused > $share * ahead

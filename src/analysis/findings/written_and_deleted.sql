-- id: F25
-- title: written, then deleted
-- shown: byte_balance
-- severity: note
-- needs: calls, cache
-- limit: bytes = 16777216; fewer bytes are no finding
-- sentence: {bytes} that {program} wrote to {subject} were deleted or cut off before they reached a device.
-- advice: This cost no time at a device. Keep such files on tmpfs, so that it stays so.
SELECT coalesce(p.comm, 'pid ' || f.pid) AS program, shown_files(f.path) AS subject, count(*) AS files, total(f.dropped) AS bytes,
       CAST(0 AS BIGINT) AS could_save_ns, CAST(NULL AS UBIGINT) AS op_id
FROM write_fates AS f LEFT JOIN programs AS p ON f.pid = p.program_pid
WHERE f.dropped > 0
GROUP BY program, folded_path(f.path)
HAVING total(f.dropped) >= $bytes

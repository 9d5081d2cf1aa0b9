-- id: F43
-- title: a stream without a buffer
-- shown: sizes
-- severity: warning
-- needs: app, syscall
-- limit: writes = 1000; fewer system calls are no finding
-- limit: share = 0.8; how many of the library's calls must each make one
-- limit: bytes = 512; larger system calls are no finding
-- rows: syscall_write >= $writes
-- sentence: {writes} of {calls} writes of {program} to the stream on {subject} went to the kernel at once, {mean_bytes} each.
-- advice: Buffer the stream (setvbuf with _IOFBF); it is a terminal's or was set to line buffering.
SELECT coalesce(p.comm, 'pid ' || s.pid) AS program, coalesce(shown_path_at(s.file, 0), 'descriptor ' || s.fd) AS subject, count(DISTINCT s.app_op) AS calls,
       count(DISTINCT s.syscall_op) AS writes, total(s.bytes) // greatest(count(DISTINCT s.syscall_op), 1) AS mean_bytes,
       CAST(0 AS BIGINT) AS could_save_ns, min(s.syscall_op) AS op_id
FROM stdio_writes AS s LEFT JOIN programs AS p ON s.pid = p.program_pid
GROUP BY program, s.pid, s.fd, s.file
HAVING count(DISTINCT s.syscall_op) >= $writes AND count(DISTINCT s.syscall_op) >= $share * count(DISTINCT s.app_op)
  AND total(s.bytes) < $bytes * count(DISTINCT s.syscall_op)

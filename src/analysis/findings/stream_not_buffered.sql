-- id: F43
-- title: a stream without a buffer
-- shown: sizes
-- severity: warning
-- needs: app, syscall
-- limit: writes = 1000; fewer system calls are no finding
-- limit: share = 0.8; how many of the library's calls must each make one
-- limit: bytes = 512; system calls of so many bytes or more are no finding
-- rows: syscall_write >= $writes
-- sentence: {program} wrote to the stream on {subject} in {calls} calls, which made {writes} system calls of {mean_bytes} on average.
-- advice: Buffer the stream (setvbuf with _IOFBF), and flush it less often. It has no buffer (as stderr) or a line buffer (as a
--   terminal), or the program flushes it after each write.
SELECT coalesce(p.comm, 'pid ' || s.pid) AS program, coalesce(shown_path_at(s.file, 0), 'descriptor ' || s.fd) AS subject, count(DISTINCT s.app_op) AS calls,
       count(DISTINCT s.syscall_op) AS writes, total(CASE WHEN s.syscall_op IS NOT NULL THEN s.bytes END) // greatest(count(DISTINCT s.syscall_op), 1) AS mean_bytes,
       CAST(0 AS BIGINT) AS could_save_ns, min(s.syscall_op) AS op_id
FROM stdio_writes AS s LEFT JOIN programs AS p ON s.pid = p.program_pid
GROUP BY program, s.pid, s.fd, s.file
HAVING count(DISTINCT s.syscall_op) >= $writes AND count(DISTINCT s.syscall_op) >= $share * count(DISTINCT s.app_op)
  AND total(CASE WHEN s.syscall_op IS NOT NULL THEN s.bytes END) < $bytes * count(DISTINCT s.syscall_op)

-- id: F16
-- title: direct I/O that went through the cache
-- shown: device_causes
-- severity: warning
-- needs: syscall_open, cache_add
-- limit: operations = 16; fewer calls are no finding
-- rows: cache_add >= $operations
-- sentence: {operations} calls on {subject}, which {program} opened with O_DIRECT, went through the page cache.
-- advice: Align address, position and size as statx (STATX_DIOALIGN) says; compressed files have no direct I/O.
SELECT c.program AS program, c.path AS subject, count(DISTINCT c.op_id) AS operations,
       union_length(c.ts_ns, c.until_ns) AS took_ns, CAST(0 AS BIGINT) AS could_save_ns, arg_max(c.op_id, c.duration_ns) AS op_id
FROM file_calls AS c
  SEMI JOIN (SELECT file, pid FROM syscall_open WHERE result >= 0 AND flags_text('open', flags) LIKE '%O_DIRECT%') AS o ON c.file = o.file AND c.pid = o.pid
  SEMI JOIN cache_add AS a ON c.op_id = a.op_id AND c.file = a.file
WHERE moves_bytes(c.class) AND c.file <> 0
GROUP BY c.program, c.path
HAVING count(DISTINCT c.op_id) >= $operations

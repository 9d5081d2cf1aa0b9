-- id: F17
-- title: writes that must read first
-- shown: device_causes
-- severity: warning
-- needs: calls, cache, block
-- limit: writes = 100; fewer such writes are no finding
-- rows: calls >= $writes
-- sentence: {writes} writes of {program} to {subject} had to read pages first that they change in part: {bytes}, {took_ns}.
-- advice: Write whole pages: positions and sizes that are multiples of 4096 bytes.
SELECT c.program AS program, c.path AS subject, count(DISTINCT c.op_id) AS writes, total(l.bytes) AS bytes,
       union_length(c.ts_ns, c.until_ns) AS took_ns, union_length(c.ts_ns, c.until_ns) AS could_save_ns, arg_max(c.op_id, c.duration_ns) AS op_id
FROM links AS l JOIN file_calls_by_op AS c ON l.op_id = c.op_id
WHERE l.direction = 'read' AND l.cause IN ('read', 'rounding') AND writes(c.class) AND NOT copies(c.class)
GROUP BY c.program, c.path
HAVING count(DISTINCT c.op_id) >= $writes

-- What moved the bytes of devices, as the frames of a stack: one row per program, call, file, cause and
-- device. The sum is what the devices completed.
--   program     that caused it; '(unknown)'
--   call        that caused it, as in events; '(no call)': its operation is not in the trace
--   path        the last name of the file; '(no file)': metadata, journals and the like
--   direction, cause   as in links
--   device      its name
--   ranges      number of links
--   bytes       bytes moved
CREATE VIEW byte_stacks AS
WITH
  calls AS (
    SELECT op_id, min(coalesce(call, class)) AS call
    FROM events
    WHERE op_id <> 0 AND duration_ns IS NOT NULL AND layer IN (SELECT asked_layer FROM asked_layers)
    GROUP BY op_id
  ),
  names AS (SELECT device, min(name) AS name FROM devices GROUP BY device)
SELECT coalesce(p.comm, CASE l.pid WHEN 0 THEN '(unknown)' ELSE 'pid ' || l.pid END) AS program,
       coalesce(c.call, '(no call)') AS call, coalesce(nullif(f.path, ''), '(no file)') AS path,
       l.direction AS direction, l.cause AS cause, coalesce(d.name, 'device ' || l.device) AS device,
       count(*) AS ranges, total(l.bytes) AS bytes
FROM links AS l
  LEFT JOIN programs AS p ON l.pid = p.program_pid
  LEFT JOIN calls AS c ON l.op_id = c.op_id
  LEFT JOIN file_names AS f ON l.file = f.file
  LEFT JOIN names AS d ON l.device = d.device
WHERE l.completed_ns IS NOT NULL
GROUP BY ALL;

-- What else a device served while it worked for a call: one row per call, device, direction and
-- cause of others' bytes. A device that works for others is slower for the call. Bytes of the
-- call's own file are not others'.
--   op_id                 the call
--   device, device_name   a device that worked for it
--   direction, cause      as in links
--   pid, comm             the process that caused the bytes; 0, NULL: unknown
--   bytes, requests       bytes that were at the device during the call, and number of bios, or parts of bios
CREATE VIEW served_meanwhile AS
WITH
  used AS (
    SELECT by_op AS user_op, device FROM all_links WHERE by_op <> 0 AND issued_ns IS NOT NULL
    UNION
    SELECT op_id AS user_op, device FROM block_complete WHERE op_id <> 0
  ),
  spans AS (
    SELECT u.user_op AS op_id, u.device AS device, min(e.ts_ns) AS from_ns, max(plus(e.ts_ns, e.duration_ns)) AS until_ns, max(e.file) AS file
    FROM used AS u JOIN all_events AS e ON u.user_op = e.op_id
    WHERE e.duration_ns IS NOT NULL AND is_asked(e.layer)
    GROUP BY u.user_op, u.device
  )
SELECT s.op_id AS op_id, s.device AS device, d.name AS device_name, l.direction AS direction, l.cause AS cause, l.pid AS pid,
       p.comm AS comm, total(l.bytes) AS bytes, count(*) AS requests
FROM spans AS s
  JOIN all_links AS l
    ON l.device = s.device AND l.issued_ns < s.until_ns AND l.completed_ns > s.from_ns AND l.by_op <> s.op_id AND l.op_id <> s.op_id
      AND (l.file = 0 OR l.file <> s.file)
  LEFT JOIN devices AS d ON s.device = d.device
  LEFT JOIN programs AS p ON l.pid = p.program_pid
GROUP BY s.op_id, s.device, d.name, l.direction, l.cause, l.pid, p.comm;

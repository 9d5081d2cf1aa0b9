-- Accounting of all bytes that devices completed: one row per device and direction.
--   device, device_name   the whole disk
--   direction     the operation: 'read', 'write', ...
--   completed     bytes that the device completed
--   attributed    part of it that is attributed to an operation or a process
--   exact         part of `attributed` with an exact cause
--   remainder     part of it without a known cause: links gives the reason, by is_remainder and cause
--   share         attributed / completed
--   differs       completed - attributed - remainder: anything but 0 is a defect of iotrail
--   under_way     bytes that were queued, without their completion in the trace: for a stacked device, all
CREATE VIEW conservation AS
WITH
  requests AS (
    SELECT device, class AS direction, sum(bytes) AS completed
    FROM (SELECT e.device AS device, choice_text('block', e.flags) AS class, e.bytes AS bytes
          FROM block_complete AS e, selection AS s
          WHERE e.ts_ns >= s.from_ns AND e.ts_ns < s.to_ns) AS r
    WHERE bytes > 0
    GROUP BY device, class
  ),
  linked AS (
    SELECT device, direction,
           sum(CASE WHEN completed_ns IS NOT NULL AND is_remainder = 0 THEN bytes ELSE 0 END) AS attributed,
           sum(CASE WHEN completed_ns IS NOT NULL AND is_remainder = 0 AND confidence = 'exact' THEN bytes ELSE 0 END) AS exact,
           sum(CASE WHEN completed_ns IS NOT NULL AND is_remainder = 1 THEN bytes ELSE 0 END) AS remainder,
           sum(CASE WHEN completed_ns IS NULL THEN bytes ELSE 0 END) AS under_way
    FROM all_links AS l, selection AS s
    WHERE coalesce(l.issued_ns, l.ts_ns) >= s.from_ns AND coalesce(l.issued_ns, l.ts_ns) < s.to_ns
    GROUP BY device, direction
  )
SELECT coalesce(r.device, l.device) AS device, d.name AS device_name, coalesce(r.direction, l.direction) AS direction,
       CAST(coalesce(r.completed, 0) AS BIGINT) AS completed, CAST(coalesce(l.attributed, 0) AS BIGINT) AS attributed,
       CAST(coalesce(l.exact, 0) AS BIGINT) AS exact, CAST(coalesce(l.remainder, 0) AS BIGINT) AS remainder,
       CASE WHEN r.completed > 0 THEN coalesce(l.attributed, 0) / r.completed END AS share,
       CAST(coalesce(r.completed, 0) - coalesce(l.attributed, 0) - coalesce(l.remainder, 0) AS BIGINT) AS differs,
       CAST(coalesce(l.under_way, 0) AS BIGINT) AS under_way
FROM requests AS r
  FULL JOIN linked AS l ON r.device = l.device AND r.direction = l.direction
  LEFT JOIN devices AS d ON coalesce(r.device, l.device) = d.device;

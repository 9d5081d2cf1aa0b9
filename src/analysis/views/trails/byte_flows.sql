-- The way of bytes between programs and devices, as flows: one row per direction, source and target.
-- At each node in the middle, as much comes as goes. Flows to the node 'devices', or from it, add up to what
-- the devices completed, as in byte_balance. It covers the whole trace.
--   direction                  'write' or 'read'
--   source_kind, target_kind   'devices', 'calls', 'program', or 'part' of byte_balance
--   source, target             the node: 'devices'; 'written' or 'calls read'; a program, '(others)' for all but the six
--                              with the most bytes; a part
--   bytes                      larger than 0
CREATE VIEW byte_flows AS
WITH
  balance AS MATERIALIZED (SELECT direction, step, part, pid, sum(bytes) AS bytes FROM byte_balance GROUP BY direction, step, part, pid),
  made AS (
    SELECT b.direction AS direction, coalesce(nullif(p.comm, ''), CASE b.pid WHEN 0 THEN '(unknown)' ELSE 'pid ' || b.pid END) AS name,
           sum(b.bytes) AS bytes
    FROM balance AS b LEFT JOIN programs AS p ON b.pid = p.program_pid
    WHERE b.step = 1
    GROUP BY b.direction, name
  ),
  ranked AS (SELECT *, row_number() OVER (PARTITION BY direction ORDER BY bytes DESC, name) AS number FROM made),
  shown AS (
    SELECT direction, CASE WHEN number <= 6 THEN name ELSE '(others)' END AS name, sum(bytes) AS bytes
    FROM ranked
    GROUP BY ALL
  ),
  parts AS (
    SELECT direction, step, any_value(part) AS part, sum(bytes) AS bytes
    FROM balance
    WHERE step > 1
    GROUP BY direction, step
  ),
  -- Parts that the calls' bytes come with; other positive parts meet them at the devices only.
  hub_parts AS (SELECT *, direction = 'write' AND step < 9 AND bytes > 0 AS is_source FROM parts),
  hubs AS (
    SELECT direction, total(bytes) AS bytes
    FROM (SELECT direction, bytes FROM made UNION ALL SELECT direction, bytes FROM hub_parts WHERE is_source)
    GROUP BY direction
  ),
  -- The calls' bytes that went on to a device, or came from one because a call asked.
  own AS (
    SELECT h.direction AS direction, h.bytes + coalesce(sum(least(p.bytes, 0)), 0) AS bytes
    FROM hubs AS h LEFT JOIN hub_parts AS p ON h.direction = p.direction
    GROUP BY h.direction, h.bytes
  ),
  -- Of what was read ahead, calls read a part.
  ahead AS (
    SELECT coalesce(sum(CASE part WHEN 'read ahead' THEN bytes END), 0) AS bytes,
           coalesce(-sum(CASE step WHEN 2 THEN least(bytes, 0) END), 0) AS used
    FROM parts
    WHERE direction = 'read'
  ),
  flows AS (
    SELECT direction, 'program' AS source_kind, name AS source, 'calls' AS target_kind, 'written' AS target, bytes FROM shown WHERE direction = 'write'
    UNION ALL
    SELECT direction, 'part', part, 'calls', 'written', bytes FROM hub_parts WHERE is_source
    UNION ALL
    SELECT direction, 'calls', 'written', 'part', part, -bytes FROM parts WHERE direction = 'write'
    UNION ALL
    SELECT direction, 'calls', 'written', 'part', 'data of files', bytes FROM own WHERE direction = 'write'
    UNION ALL
    SELECT direction, 'part', 'data of files', 'devices', 'devices', bytes FROM own WHERE direction = 'write'
    UNION ALL
    SELECT direction, 'part', part, 'devices', 'devices', bytes FROM hub_parts WHERE direction = 'write' AND NOT is_source
    UNION ALL
    SELECT direction, 'devices', 'devices', 'part', 'asked for by calls', bytes FROM own WHERE direction = 'read'
    UNION ALL
    SELECT direction, 'part', 'asked for by calls', 'calls', 'calls read', bytes FROM own WHERE direction = 'read'
    UNION ALL
    SELECT direction, 'devices', 'devices', 'part', part, bytes FROM parts WHERE direction = 'read'
    UNION ALL
    SELECT 'read', 'part', 'read ahead', 'calls', 'calls read', least(used, bytes) FROM ahead
    UNION ALL
    SELECT 'read', 'part', 'read ahead', 'part', 'read ahead, not used', bytes - used FROM ahead
    UNION ALL
    SELECT 'read', 'part', 'read ahead for them', 'calls', 'calls read', used - bytes FROM ahead
    UNION ALL
    SELECT direction, 'part', part, 'calls', 'calls read', -bytes FROM parts WHERE direction = 'read' AND step > 2
    UNION ALL
    SELECT direction, 'calls', 'calls read', 'program', name, bytes FROM shown WHERE direction = 'read'
  )
SELECT direction, source_kind, source, target_kind, target, CAST(least(bytes, 9223372036854775807) AS BIGINT) AS bytes
FROM flows
WHERE bytes > 0;

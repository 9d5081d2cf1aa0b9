-- The pattern of each stream: one row per layer, file, disk, direction and stream, as in
-- access_steps.
--   layer, file, device, pid, stream   as in access_steps; pid: the process of the first access
--   path              the file's last name
--   direction         'read' or 'write'
--   accesses, bytes   number of accesses, and the sum of their bytes
--   sequential, repeated, reverse, strided, random   number of accesses of each kind; together with the first
--                     one they are all
--   pattern           the kind of more than half of them; 'mixed': none; 'single': one access
--   step_bytes        for strided and reverse, the most frequent distance between their begins; NULL: others
--   gap_mean_bytes    mean distance between accesses, in either direction; 0: all are sequential
--   from_ns, until_ns   begin of the first, and end of the last
CREATE VIEW access_streams AS
WITH
  sums AS (
    SELECT layer, file, device, is_read, stream, arg_min(pid, ts_ns) AS pid, count(*) AS accesses, total(bytes) AS bytes,
           count(*) FILTER (kind = 'sequential') AS sequential, count(*) FILTER (kind = 'repeated') AS repeated,
           count(*) FILTER (kind = 'reverse') AS reverse, count(*) FILTER (kind = 'strided') AS strided,
           count(*) FILTER (kind = 'random') AS random,
           mode(step_bytes) FILTER (kind IN ('strided', 'reverse')) AS step_bytes, avg(abs(CAST(gap_bytes AS HUGEINT))) AS gap_mean,
           min(ts_ns) AS from_ns, max(until_ns) AS until_ns
    FROM access_steps
    GROUP BY layer, file, device, is_read, stream
  )
SELECT s.layer AS layer, s.file AS file, n.path AS path, s.device AS device, s.pid AS pid, s.stream AS stream,
       CASE WHEN s.is_read THEN 'read' ELSE 'write' END AS direction, s.accesses AS accesses, s.bytes AS bytes,
       s.sequential AS sequential, s.repeated AS repeated, s.reverse AS reverse, s.strided AS strided, s.random AS random,
       CASE WHEN s.accesses = 1 THEN 'single'
            WHEN 2 * s.sequential > s.accesses - 1 THEN 'sequential' WHEN 2 * s.random > s.accesses - 1 THEN 'random'
            WHEN 2 * s.strided > s.accesses - 1 THEN 'strided' WHEN 2 * s.reverse > s.accesses - 1 THEN 'reverse'
            WHEN 2 * s.repeated > s.accesses - 1 THEN 'repeated' ELSE 'mixed' END AS pattern,
       s.step_bytes AS step_bytes,
       CAST(round(least(coalesce(s.gap_mean, 0), 9e18)) AS BIGINT) AS gap_mean_bytes, s.from_ns AS from_ns, s.until_ns AS until_ns
FROM sums AS s LEFT JOIN file_names AS n ON s.file = n.file;

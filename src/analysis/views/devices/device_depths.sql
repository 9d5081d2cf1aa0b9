-- How many requests a device had at the same time: one row per device, place and number.
--   device, device_name   the whole disk
--   place             'device': requests that were issued and had not completed; 'all': also those in its queue
--   depth             number of requests
--   ns                time of the run with exactly that number; together the length of the run
--   share             by the length of the run

-- The times between which the number of requests of a device does not change: one row per device, place
-- and time. Without gaps, they cover the run.
--   device, place, depth   as in device_depths
--   from_ns, until_ns   begin and end, within the run
CREATE VIEW depth_steps AS
WITH
  spans AS (
    SELECT q.device AS device, 'device' AS place, q.ts_ns AS from_ns, plus(q.ts_ns, q.duration_ns) AS until_ns FROM requests AS q
    UNION ALL
    SELECT q.device AS device, 'all' AS place, minus(q.ts_ns, q.queue_ns) AS from_ns, plus(q.ts_ns, q.duration_ns) AS until_ns FROM requests AS q
  ),
  clipped AS (
    SELECT s.device AS device, s.place AS place, least(greatest(s.from_ns, r.begin_ns), r.end_ns) AS from_ns,
           least(greatest(s.until_ns, r.begin_ns), r.end_ns) AS until_ns, r.begin_ns AS begin_ns, r.end_ns AS end_ns
    FROM spans AS s CROSS JOIN run AS r
  ),
  changes AS (
    SELECT device, place, from_ns AS at_ns, 1 AS change FROM clipped WHERE until_ns > from_ns
    UNION ALL
    SELECT device, place, until_ns AS at_ns, -1 AS change FROM clipped WHERE until_ns > from_ns
    UNION ALL
    SELECT device, place, any_value(begin_ns) AS at_ns, 0 AS change FROM clipped GROUP BY device, place
  ),
  summed AS (SELECT device, place, at_ns, sum(change) AS change FROM changes GROUP BY device, place, at_ns)
SELECT s.device AS device, s.place AS place, CAST(sum(s.change) OVER times AS BIGINT) AS depth, s.at_ns AS from_ns,
       coalesce(lead(s.at_ns) OVER times, r.end_ns) AS until_ns
FROM summed AS s CROSS JOIN run AS r
WINDOW times AS (PARTITION BY s.device, s.place ORDER BY s.at_ns);

CREATE VIEW device_depths AS
SELECT s.device AS device, any_value(d.name) AS device_name, s.place AS place, s.depth AS depth, total(s.until_ns - s.from_ns) AS ns,
       sum(s.until_ns - s.from_ns) / any_value(r.duration_ns) AS share
FROM depth_steps AS s CROSS JOIN run AS r LEFT JOIN devices AS d ON s.device = d.device
WHERE s.until_ns > s.from_ns
GROUP BY s.device, s.place, s.depth;

-- The number of requests of each device over time: one row per device, place and bin of time.
--   device, device_name, place   as in device_depths
--   bin               from 0, in steps of bin_ns (time_grid) from the begin of the run
--   depth_mean        mean number over the bin
--   depth_max         largest number in it
CREATE VIEW depth_bins AS
WITH
  areas AS (
    SELECT *, coalesce(sum(depth * CAST(until_ns - from_ns AS HUGEINT)) OVER (PARTITION BY device, place ORDER BY from_ns
                       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS area_before
    FROM depth_steps
  ),
  bins AS (SELECT unnest(range(0, CAST((r.duration_ns + g.bin_ns - 1) // g.bin_ns AS BIGINT))) AS bin, r.begin_ns AS begin_ns, r.end_ns AS end_ns,
                  g.bin_ns AS bin_ns
           FROM run AS r CROSS JOIN time_grid AS g),
  places AS (SELECT DISTINCT device, place FROM depth_steps),
  edges AS (
    SELECT p.device AS device, p.place AS place, b.bin AS bin, plus(b.begin_ns, b.bin * b.bin_ns) AS from_ns,
           least(plus(b.begin_ns, (b.bin + 1) * b.bin_ns), b.end_ns) AS until_ns
    FROM places AS p CROSS JOIN bins AS b
  ),
  begun AS (
    SELECT e.*, a.depth AS depth_before, a.area_before + a.depth * CAST(e.from_ns - a.from_ns AS HUGEINT) AS from_area
    FROM edges AS e ASOF JOIN areas AS a ON e.device = a.device AND e.place = a.place AND e.from_ns >= a.from_ns
  ),
  ended AS (
    SELECT b.*, a.area_before + a.depth * CAST(b.until_ns - a.from_ns AS HUGEINT) AS until_area
    FROM begun AS b ASOF JOIN areas AS a ON b.device = a.device AND b.place = a.place AND b.until_ns >= a.from_ns
  ),
  peaks AS (
    SELECT s.device AS device, s.place AS place, CAST(quotient(minus(s.from_ns, r.begin_ns), g.bin_ns) AS BIGINT) AS bin, max(s.depth) AS depth
    FROM depth_steps AS s CROSS JOIN run AS r CROSS JOIN time_grid AS g
    WHERE s.until_ns > s.from_ns
    GROUP BY s.device, s.place, bin
  )
SELECT e.device AS device, d.name AS device_name, e.place AS place, e.bin AS bin,
       (e.until_area - e.from_area) / nullif(e.until_ns - e.from_ns, 0) AS depth_mean, greatest(e.depth_before, coalesce(p.depth, 0)) AS depth_max
FROM ended AS e
  LEFT JOIN peaks AS p ON e.device = p.device AND e.place = p.place AND e.bin = p.bin
  LEFT JOIN devices AS d ON e.device = d.device;

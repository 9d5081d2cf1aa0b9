-- The time of requests by stage, with the names of btt: one row per device, operation and stage. For each
-- operation, the times of the stages from Q2G to D2C add up to the time of Q2C.
--   device, device_name   the whole disk
--   operation         'read', 'write', 'flush', ...; 'total': all
--   step, stage       order of the stages, and their names; device_stage_meanings explains them
--   requests          number of requests that have the stage; Q2Q: of pairs of bios
--   total_ns          sum of the times
--   mean_ns, min_ns, p50_ns, p99_ns, max_ns   exact
--   share             total_ns by total_ns of Q2C; NULL: Q2Q
-- Q2G needs the event block_getrq, which is recorded on request. A stage that is unknown, or that a request
-- does not pass, has no row for it, and its time is part of the next stage.

-- The stages of device_stages, in order.
--   step, stage, meaning   number, name, and meaning
CREATE TABLE device_stage_meanings (step INTEGER, stage VARCHAR, meaning VARCHAR);
INSERT INTO device_stage_meanings VALUES
  (1, 'Q2Q', 'between the arrivals of two bios, one after the other'),
  (2, 'Q2G', 'from the arrival of a request''s first bio until it got a request: merging, throttling, waiting for a free request'),
  (3, 'G2I', 'until the request was put into the scheduler''s queue: it was held back in the task''s plug'),
  (4, 'I2D', 'in the scheduler''s queue, until the request was issued to the device'),
  (5, 'D2C', 'at the device, until it completed'),
  (6, 'Q2C', 'all of it, from arrival to completion');

-- The times of each completed request by stage: one row per row of requests.
--   device, operation   as in device_stages
--   sector, bytes     first sector, and length
--   queued_ns, got_ns, inserted_ns, issued_ns, completed_ns   begins of the stages (CLOCK_MONOTONIC); NULL:
--                     unknown, or not passed
--   q2g_ns, g2i_ns, i2d_ns, d2c_ns   times of the stages; the known ones add up to q2c_ns
--   q2c_ns            from arrival to completion
CREATE VIEW request_stages AS
WITH
  asked AS (
    SELECT device, choice_text('block', flags) AS operation, request, sector, bytes, minus(ts_ns, queue_ns) AS queued_ns, ts_ns AS issued_ns,
           plus(ts_ns, duration_ns) AS completed_ns
    FROM requests
  ),
  inserted AS (
    SELECT a.*, CASE WHEN i.ts_ns >= a.queued_ns THEN i.ts_ns END AS inserted_ns
    FROM asked AS a ASOF LEFT JOIN block_insert AS i ON a.device = i.device AND a.request = i.request AND a.issued_ns >= i.ts_ns
  ),
  got AS (
    SELECT i.*, CASE WHEN g.ts_ns >= i.queued_ns AND g.ts_ns <= coalesce(i.inserted_ns, i.issued_ns) THEN g.ts_ns END AS got_ns
    FROM inserted AS i ASOF LEFT JOIN block_getrq AS g ON i.device = g.device AND i.sector = g.sector AND i.issued_ns >= g.ts_ns
  )
SELECT device, operation, sector, bytes, queued_ns, got_ns, inserted_ns, issued_ns, completed_ns, minus(got_ns, queued_ns) AS q2g_ns,
       minus(inserted_ns, coalesce(got_ns, queued_ns)) AS g2i_ns, minus(issued_ns, coalesce(inserted_ns, got_ns, queued_ns)) AS i2d_ns,
       minus(completed_ns, issued_ns) AS d2c_ns, minus(completed_ns, queued_ns) AS q2c_ns
FROM got;

CREATE VIEW device_stages AS
WITH
  staged AS MATERIALIZED (SELECT device, operation, q2g_ns, g2i_ns, i2d_ns, d2c_ns, q2c_ns FROM request_stages),
  times AS (
    SELECT device, operation, 2 AS step, q2g_ns AS ns FROM staged WHERE q2g_ns IS NOT NULL
    UNION ALL SELECT device, operation, 3 AS step, g2i_ns AS ns FROM staged WHERE g2i_ns IS NOT NULL
    UNION ALL SELECT device, operation, 4 AS step, i2d_ns AS ns FROM staged
    UNION ALL SELECT device, operation, 5 AS step, d2c_ns AS ns FROM staged
    UNION ALL SELECT device, operation, 6 AS step, q2c_ns AS ns FROM staged
  ),
  queued AS (
    SELECT device, choice_text('block', flags) AS operation, ts_ns FROM block_queue WHERE device IN (SELECT device FROM requests)
  ),
  arrivals AS (
    SELECT device, operation, minus(ts_ns, lag(ts_ns) OVER (PARTITION BY device, operation ORDER BY ts_ns)) AS ns FROM queued
    UNION ALL
    SELECT device, 'total' AS operation, minus(ts_ns, lag(ts_ns) OVER (PARTITION BY device ORDER BY ts_ns)) AS ns FROM queued
  ),
  grouped AS (
    SELECT device, operation, 1 AS step, ns FROM arrivals WHERE ns IS NOT NULL
    UNION ALL SELECT * FROM times
    UNION ALL SELECT * REPLACE ('total' AS operation) FROM times
  ),
  sums AS (
    SELECT device, operation, step, count(*) AS requests, sum(CAST(ns AS HUGEINT)) AS ns, total(ns) AS total_ns, mean(ns) AS mean_ns, min(ns) AS min_ns,
           p50(ns) AS p50_ns, p99(ns) AS p99_ns, max(ns) AS max_ns
    FROM grouped
    GROUP BY device, operation, step
  )
SELECT s.device AS device, d.name AS device_name, s.operation AS operation, s.step AS step, m.stage AS stage, s.requests AS requests,
       s.total_ns AS total_ns, s.mean_ns AS mean_ns, s.min_ns AS min_ns, s.p50_ns AS p50_ns, s.p99_ns AS p99_ns, s.max_ns AS max_ns,
       CASE WHEN s.step > 1 THEN s.ns / nullif(max(CASE s.step WHEN 6 THEN s.ns END) OVER (PARTITION BY s.device, s.operation), 0) END AS share
FROM sums AS s
  JOIN device_stage_meanings AS m ON s.step = m.step
  LEFT JOIN devices AS d ON s.device = d.device;

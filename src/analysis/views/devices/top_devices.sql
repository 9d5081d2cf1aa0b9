-- Devices by their completed requests: one row per device and operation. A request completed in
-- parts counts once for each part.
--   device, device_name            the whole disk
--   operation                      the operation: 'read', 'write', 'flush', 'discard', ...
--   requests, bytes, errors        number of completed requests, their bytes, and the failed ones
--   queue_p50_ns, queue_p99_ns, queue_max_ns      from the arrival of a request's first bio to its issue, exact
--   device_p50_ns, device_p99_ns, device_max_ns   from its issue to its completion, exact
--   busy_ns, share                 time of the run with at least one at the device, and its share of the run
--   device_share                   the same share for requests of any operation
--   depth_mean, depth_max          tags in use in its hardware queue at issue; NULL: unknown
--   in_order                       share of requests that begin at the end of the one issued before with the
--                                  same operation; NULL: no such pair, or no bytes
CREATE VIEW top_devices AS
WITH
  asked AS (
    SELECT q.device AS device, choice_text('block', q.flags) AS operation, q.ts_ns AS ts_ns, q.duration_ns AS duration_ns,
           q.queue_ns AS queue_ns, q.bytes AS bytes, q.error AS error, nullif(q.tags_in_use, 0) AS tags_in_use,
           q.sector AS sector, greatest(q.ts_ns, r.begin_ns) AS from_ns,
           least(plus(q.ts_ns, q.duration_ns), r.end_ns) AS until_ns,
           lag(plus(q.sector, CAST(q.bytes / 512 AS UBIGINT))) OVER (
             PARTITION BY q.device, choice_text('block', q.flags) ORDER BY q.ts_ns, q.sector) AS expected_sector
    FROM requests AS q CROSS JOIN run AS r
  ),
  sums AS (
    SELECT a.device AS device, a.operation AS operation, count(*) AS requests, total(a.bytes) AS bytes,
           total(CASE WHEN is_error(a.error) THEN 1 ELSE 0 END) AS errors,
           p50(a.queue_ns) AS queue_p50_ns, p99(a.queue_ns) AS queue_p99_ns, max(a.queue_ns) AS queue_max_ns,
           p50(a.duration_ns) AS device_p50_ns, p99(a.duration_ns) AS device_p99_ns, max(a.duration_ns) AS device_max_ns,
           union_length(a.from_ns, a.until_ns) AS busy_ns,
           avg(a.tags_in_use) AS depth_mean, max(a.tags_in_use) AS depth_max,
           avg(CASE WHEN a.bytes > 0 AND a.expected_sector IS NOT NULL THEN
                 CASE WHEN a.sector = a.expected_sector THEN 1e0 ELSE 0e0 END END) AS in_order
    FROM asked AS a
    GROUP BY a.device, a.operation
  ),
  busy AS (SELECT device, union_length(from_ns, until_ns) AS busy_ns FROM asked GROUP BY device)
SELECT s.*, s.busy_ns / nullif(r.duration_ns, 0) AS share, b.busy_ns / nullif(r.duration_ns, 0) AS device_share,
       d.name AS device_name
FROM sums AS s
  CROSS JOIN run AS r
  JOIN busy AS b ON s.device = b.device
  LEFT JOIN devices AS d ON s.device = d.device;

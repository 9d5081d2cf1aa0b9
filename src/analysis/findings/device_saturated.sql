-- id: F09
-- title: a device at its limit
-- shown: devices
-- severity: warning
-- needs: block
-- limit: requests = 1000; fewer requests are no finding
-- limit: share = 0.9; of the busiest time, the part in which the device must be busy
-- rows: block_complete >= $requests
-- sentence: {subject} is at its limit: its {requests} requests ({operation}) wait {queue_ns} in the queue and are served in {device_ns}.
-- advice: Make fewer or larger requests, spread them over time, or use a faster device.
WITH busy AS (
  SELECT q.device AS device, busiest_share(q.ts_ns, plus(q.ts_ns, q.duration_ns), w.window_ns) AS busiest_share, arg_max(q.op_id, q.queue_ns) AS op_id
  FROM requests AS q CROSS JOIN busy_window AS w
  GROUP BY q.device
)
SELECT coalesce(d.device_name, 'a device') AS subject, d.operation AS operation, d.requests AS requests, d.queue_p50_ns AS queue_ns, d.device_p50_ns AS device_ns,
       b.busiest_share AS busiest_share, CAST(0 AS BIGINT) AS could_save_ns, b.op_id AS op_id
FROM top_devices AS d JOIN busy AS b ON d.device = b.device
WHERE b.busiest_share >= $share AND d.queue_p50_ns > d.device_p50_ns AND d.requests >= $requests

-- id: F08
-- title: random reads one at a time
-- shown: devices
-- severity: warning
-- needs: block
-- merges: random reads
-- limit: requests = 500; fewer reads are no finding
-- limit: share = 0.5; of the busiest time, the part that the device must be reading
-- limit: depth = 2; more requests at a time on average are no finding
-- limit: bytes = 32768; larger requests are limited by speed, not by latency
-- limit: in_order = 0.5; more requests in order are not random
-- rows: block_complete >= $requests
-- sentence: {subject} served {requests} random reads one after another, half of them within {median_ns}: its latency is the limit, not its speed.
-- advice: Ask for several reads at once: io_uring or threads with 8 to 32 in flight, effective_io_concurrency of a database.
WITH
  spans AS (
    SELECT q.device AS device, q.op_id AS op_id, q.ts_ns AS ts_ns, plus(q.ts_ns, q.duration_ns) AS until_ns, q.duration_ns AS duration_ns
    FROM requests AS q
    WHERE choice_text('block', q.flags) = 'read'
  ),
  reads AS (
    SELECT device, busiest_share(ts_ns, until_ns, window_ns) AS busiest_share, union_length(ts_ns, until_ns) AS busy_ns, sum(duration_ns) AS sum_ns,
           arg_max(op_id, duration_ns) AS op_id
    FROM spans CROSS JOIN busy_window
    GROUP BY device
  )
SELECT coalesce(d.device_name, 'a device') AS subject, d.requests AS requests, d.bytes // d.requests AS mean_bytes, d.device_p50_ns AS median_ns,
       r.sum_ns / r.busy_ns AS depth, r.busiest_share AS busiest_share, CAST(r.busy_ns * 7 / 8 AS BIGINT) AS could_save_ns, r.op_id AS op_id
FROM top_devices AS d JOIN reads AS r ON d.device = r.device
WHERE d.operation = 'read' AND d.requests >= $requests AND d.bytes <= $bytes * d.requests AND coalesce(d.in_order, 0) < $in_order
  AND r.sum_ns < $depth * r.busy_ns AND r.busiest_share >= $share

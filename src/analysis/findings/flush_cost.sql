-- id: F33
-- title: flushes of the disk's cache
-- shown: devices
-- severity: warning
-- needs: block
-- merges: syncs
-- limit: flushes = 50; fewer flushes are no finding
-- limit: share = 0.3; of the device's busy time, the part that they must take
-- rows: block_complete >= $flushes
-- sentence: {subject} worked {flush_share} of its busy time on {flushes} flushes of its cache: {took_ns}, half of them within {median_ns}.
-- advice: Sync less often, or use a device with protection against power loss, which need not flush.
WITH
  spans AS (
    SELECT device, op_id, duration_ns, ts_ns, plus(ts_ns, duration_ns) AS until_ns, choice_text('block', flags) = 'flush' AS is_flush
    FROM requests
  ),
  devices_busy AS (
    SELECT device, count(*) FILTER (is_flush) AS flushes, union_length(CASE WHEN is_flush THEN ts_ns END, until_ns) AS took_ns,
           union_length(ts_ns, until_ns) AS busy_ns, p50(CASE WHEN is_flush THEN duration_ns END) AS median_ns,
           arg_max(op_id, duration_ns) FILTER (is_flush) AS op_id
    FROM spans
    GROUP BY device
  )
SELECT coalesce(d.name, 'a device') AS subject, b.flushes AS flushes, b.took_ns AS took_ns, b.took_ns / b.busy_ns AS flush_share, b.median_ns AS median_ns,
       b.took_ns AS could_save_ns, b.op_id AS op_id
FROM devices_busy AS b LEFT JOIN devices AS d ON b.device = d.device
WHERE b.flushes >= $flushes AND b.took_ns >= $share * b.busy_ns

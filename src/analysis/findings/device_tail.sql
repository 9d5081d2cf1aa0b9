-- id: F31
-- title: single requests that take very long
-- shown: devices
-- severity: warning
-- needs: block
-- limit: requests = 1000; fewer requests are no finding
-- limit: p99_ratio = 20; how many times the median the 99th percentile must be
-- limit: max_ratio = 200; or the slowest request
-- limit: longest_ns = 10000000; faster requests are no finding
-- rows: block_complete >= $requests
-- sentence: {subject} served the median of {requests} requests ({operation}) in {median_ns}, one of 100 in {p99_ns} or more, and one in {longest_ns}.
-- advice: Look for what else the device did then: discards, flushes, its own housekeeping or power saving.
SELECT coalesce(d.device_name, 'a device') AS subject, d.operation AS operation, d.requests AS requests, d.device_p50_ns AS median_ns, d.device_p99_ns AS p99_ns,
       d.device_max_ns AS longest_ns, CAST(0 AS BIGINT) AS could_save_ns,
       (SELECT arg_max(op_id, duration_ns) FROM requests AS r WHERE r.device = d.device AND choice_text('block', r.flags) = d.operation) AS op_id
FROM top_devices AS d
WHERE d.requests >= $requests AND d.device_max_ns >= $longest_ns
  AND (d.device_p99_ns >= $p99_ratio * d.device_p50_ns OR d.device_max_ns >= $max_ratio * d.device_p50_ns)

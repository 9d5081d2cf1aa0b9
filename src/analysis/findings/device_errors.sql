-- id: F32
-- title: requests that a device failed
-- shown: devices
-- severity: critical
-- needs: block
-- limit: errors = 1; fewer failed requests are no finding
-- rows: block_complete.errors >= $errors
-- sentence: {subject} failed {errors} of {requests} requests ({operation}) with {error}.
-- advice: Look into the kernel's log and the device's own (smartctl, nvme error-log); save the data.
SELECT coalesce(d.name, 'a device') AS subject, choice_text('block', r.flags) AS operation, errno_name(r.error) AS error,
       count(*) AS errors, any_value(a.requests) AS requests, CAST(0 AS BIGINT) AS could_save_ns, arg_max(r.op_id, r.duration_ns) AS op_id
FROM requests AS r
  JOIN (SELECT device, flags, count(*) AS requests FROM (SELECT device, choice_text('block', flags) AS flags FROM requests) AS q GROUP BY device, flags) AS a
    ON r.device = a.device AND choice_text('block', r.flags) = a.flags
  LEFT JOIN devices AS d ON r.device = d.device
WHERE is_error(r.error)
GROUP BY subject, operation, r.error
HAVING count(*) >= $errors

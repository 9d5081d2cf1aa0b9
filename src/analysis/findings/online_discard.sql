-- id: F34
-- title: discards while the program works
-- shown: devices
-- severity: warning
-- needs: block
-- limit: requests = 10; fewer discards are no finding
-- limit: p99_ns = 10000000; faster discards are no finding
-- limit: share = 0.05; of the run, a part that is a finding
-- rows: block_complete.discard >= $requests
-- sentence: {subject} worked {took_ns} on {requests} discards of {bytes}.
-- advice: Mount without the option discard, and run fstrim from a timer.
SELECT coalesce(device_name, 'a device') AS subject, requests, bytes, busy_ns AS took_ns, busy_ns AS could_save_ns, CAST(NULL AS UBIGINT) AS op_id
FROM top_devices
WHERE operation = 'discard' AND requests >= $requests AND (share >= $share OR device_p99_ns >= $p99_ns)

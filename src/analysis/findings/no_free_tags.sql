-- id: F11
-- title: waits for a free request
-- shown: waits
-- severity: warning
-- needs: sched
-- limit: took_ns = 50000000; less time is no finding
-- rows: waits.tag
-- sentence: {subject} waited {took_ns} in {waits} waits since all requests of a device were in use.
-- advice: Keep fewer requests in flight, or raise nr_requests of the device.
SELECT coalesce(p.comm, 'pid ' || w.pid) AS subject, count(*) AS waits, union_length(w.ts_ns, plus(w.ts_ns, w.duration_ns)) AS took_ns,
       union_length(w.ts_ns, plus(w.ts_ns, w.duration_ns)) AS could_save_ns, arg_max(w.op_id, w.duration_ns) AS op_id
FROM waits AS w LEFT JOIN programs AS p ON w.pid = p.program_pid
WHERE w.reason = 'tag'
GROUP BY subject
HAVING union_length(w.ts_ns, plus(w.ts_ns, w.duration_ns)) >= $took_ns

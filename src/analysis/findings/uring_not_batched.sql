-- id: F36
-- title: io_uring submits one operation at a time
-- severity: note
-- needs: syscall_uring_enter
-- limit: enters = 1000; fewer calls of io_uring_enter are no finding
-- limit: per_call = 1.5; more operations a call are no finding
-- rows: syscall_uring_enter >= $enters
-- sentence: {subject} called io_uring_enter {enters} times for {submitted} operations.
-- advice: Submit several operations with one call, or set up the ring with DEFER_TASKRUN.
SELECT coalesce(p.comm, 'pid ' || u.pid) AS subject, count(*) AS enters, total(greatest(u.result, 0)) AS submitted,
       union_length(u.ts_ns, plus(u.ts_ns, u.duration_ns)) AS took_ns, CAST(0 AS BIGINT) AS could_save_ns, arg_max(u.op_id, u.duration_ns) AS op_id
FROM syscall_uring_enter AS u LEFT JOIN programs AS p ON u.pid = p.program_pid
GROUP BY subject
HAVING count(*) >= $enters AND total(greatest(u.result, 0)) < $per_call * count(*)

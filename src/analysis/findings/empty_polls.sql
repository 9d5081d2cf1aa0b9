-- id: F42
-- title: wakes up with nothing to do
-- severity: note
-- needs: syscall_poll
-- limit: polls = 1000; fewer calls are no finding
-- limit: share = 0.8; of them, the part that must return nothing
-- limit: timeout_ns = 10000000; calls that wait longer are no finding
-- rows: syscall_poll >= $polls
-- sentence: {empty} of {polls} {call} of {subject} returned with nothing.
-- advice: Use a longer timeout, or none.
SELECT coalesce(p.comm, 'pid ' || s.pid) AS subject, s.call AS call, count(*) AS polls, count(*) FILTER (s.result = 0) AS empty,
       CAST(0 AS BIGINT) AS could_save_ns, min(s.op_id) AS op_id
FROM syscall_poll AS s LEFT JOIN programs AS p ON s.pid = p.program_pid
WHERE s.timeout_ns BETWEEN 0 AND $timeout_ns
GROUP BY subject, s.call
HAVING count(*) >= $polls AND count(*) FILTER (s.result = 0) >= $share * count(*)

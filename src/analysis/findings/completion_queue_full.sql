-- id: F38
-- title: io_uring's completion queue was full
-- shown: async_phases
-- severity: critical
-- needs: async
-- limit: overflows = 1; fewer are no finding
-- rows: async_overflow >= $overflows
-- sentence: {subject} left so many completions unfetched that the queue was full {overflows} times.
-- advice: Make the queue larger (IORING_SETUP_CQSIZE), or fetch completions before submitting more.
SELECT coalesce(p.comm, 'pid ' || o.pid) AS subject, count(*) AS overflows, CAST(0 AS BIGINT) AS could_save_ns, min(o.op_id) AS op_id
FROM async_overflow AS o LEFT JOIN programs AS p ON o.pid = p.program_pid
GROUP BY subject
HAVING count(*) >= $overflows

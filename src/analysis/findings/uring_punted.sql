-- id: F35
-- title: io_uring hands operations to worker threads
-- shown: async_phases
-- severity: warning
-- needs: async
-- limit: operations = 50; fewer operations of a kind are no finding
-- limit: share = 0.2; of them, the part that must go to workers
-- rows: async_operation >= $operations
-- sentence: {punted_share} of {operations} {subject} of io_uring went to worker threads of the kernel, which began {handed_ns} after submission.
-- advice: Use O_DIRECT or files in the cache, registered buffers, and limit the workers (IORING_REGISTER_IOWQ_MAX_WORKERS).
SELECT call AS subject, count(*) AS operations, count(*) FILTER (handed_over_ns > 0) AS punted, count(*) FILTER (handed_over_ns > 0) / count(*) AS punted_share,
       mean(CASE WHEN handed_over_ns > 0 THEN handed_over_ns END) AS handed_ns, CAST(0 AS BIGINT) AS could_save_ns, arg_max(op_id, duration_ns) AS op_id
FROM async_operation
WHERE ring <> 0
GROUP BY call
HAVING count(*) >= $operations AND count(*) FILTER (handed_over_ns > 0) >= $share * count(*)

-- id: F37
-- title: finished operations seen late
-- shown: async_phases
-- severity: warning
-- needs: async
-- limit: operations = 100; fewer operations of a kind are no finding
-- limit: p99_ns = 500000; one of 100 must wait longer
-- limit: share = 0.2; or of the time of all, the part that they wait
-- rows: async_operation >= $operations
-- sentence: Of {operations} {subject}, one of 100 was finished {p99_ns} or longer before the program could see its result; of the
--   time of all, that is {waiting_share}.
-- advice: Wait for completions instead of polling for them now and then, or let another thread fetch them.
SELECT call AS subject, count(*) AS operations, p99(unreported_ns) AS p99_ns, total(unreported_ns) / nullif(total(duration_ns), 0) AS waiting_share,
       CAST(0 AS BIGINT) AS could_save_ns, arg_max(op_id, unreported_ns) AS op_id
FROM async_phases
GROUP BY call
HAVING count(*) >= $operations AND (p99(unreported_ns) > $p99_ns OR total(unreported_ns) >= $share * total(duration_ns) AND total(unreported_ns) > 0)

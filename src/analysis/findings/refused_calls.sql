-- id: F51
-- title: calls that failed, so that data is missing
-- severity: critical
-- needs: calls
-- limit: calls = 1; fewer failed calls are no finding
-- rows: calls >= $calls
-- sentence: {call} of {program}[ on {subject}] failed with {error} ({calls} times): {meaning}.
-- advice: See whether the program repeats them: else their data is missing.
SELECT program, call, path AS subject, error, meaning, calls, CAST(0 AS BIGINT) AS could_save_ns, op_id
FROM refused_io
WHERE calls >= $calls

-- id: F23
-- title: searches that find nothing
-- shown: failed_calls
-- severity: note
-- needs: calls
-- limit: calls = 500; fewer calls on missing files are no finding
-- rows: calls >= $calls
-- sentence: {subject} looked for files at {places} places where there are none: {calls} calls, which took {took_ns}.
-- advice: Shorten the search path, or keep what was not found.
SELECT program AS subject, count(DISTINCT path) AS places, count(*) AS calls,
       union_length(ts_ns, until_ns) AS took_ns, union_length(ts_ns, until_ns) AS could_save_ns, arg_max(op_id, duration_ns) AS op_id
FROM file_calls
WHERE errno_name(error) = 'ENOENT'
GROUP BY program
HAVING count(*) >= $calls

-- id: F22
-- title: a file looked up again and again
-- shown: files
-- severity: note
-- needs: calls
-- limit: calls = 1000; fewer look-ups of a path are no finding
-- limit: per_second = 10; fewer a second are no finding
-- rows: calls >= $calls
-- sentence: {program} looked {subject} up {calls} times in {over_ns}, which took {took_ns}.
-- advice: Wait for changes with inotify or fanotify, or keep the result.
SELECT program, path AS subject, count(*) AS calls, max(until_ns) - min(ts_ns) AS over_ns,
       union_length(ts_ns, until_ns) AS took_ns, union_length(ts_ns, until_ns) AS could_save_ns, arg_max(op_id, duration_ns) AS op_id
FROM file_calls
WHERE looks_up(class) AND path IS NOT NULL
GROUP BY program, pid, path
HAVING count(*) >= $calls AND count(*) * 1e9 >= $per_second * greatest(max(until_ns) - min(ts_ns), 1)

-- Where calls on files spent their time, as the frames of a stack: one row per program, call, file, part
-- and reason. The sum is the time of all file_calls.
--   program, call, path   as in file_calls; the class of a call without a name; '(unknown file)'
--   part, reason          as in op_time
--   calls                 number of calls with this part
--   ns                    time
CREATE VIEW time_stacks AS
WITH
  calls AS (
    SELECT program, coalesce(call, class) AS call, coalesce(path, '(unknown file)') AS path, op_id, duration_ns
    FROM file_calls
  ),
  -- Parts belong to a call if its number is its own.
  own AS (SELECT op_id FROM calls WHERE op_id <> 0 GROUP BY op_id HAVING count(*) = 1)
SELECT c.program AS program, c.call AS call, c.path AS path, t.part AS part, t.reason AS reason, count(*) AS calls, total(t.ns) AS ns
FROM calls AS c JOIN own AS o ON c.op_id = o.op_id JOIN op_time AS t ON c.op_id = t.op_id
GROUP BY ALL
UNION ALL
SELECT c.program, c.call, c.path, 'call', NULL, count(*), total(c.duration_ns)
FROM calls AS c ANTI JOIN own AS o ON c.op_id = o.op_id
GROUP BY ALL;

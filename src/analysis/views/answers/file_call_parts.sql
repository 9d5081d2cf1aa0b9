-- The parts of the time of the calls of file_calls. Several rows may have the same operation and part.
--   program, op_id, class   as in file_calls
--   part, reason, ns   as in op_time
CREATE VIEW file_call_parts AS
SELECT c.program AS program, t.op_id AS op_id, c.class AS class, p.part AS part, t.reason AS reason, t.ns AS ns
FROM call_parts AS t
  JOIN time_parts AS p ON t.step = p.step
  JOIN file_calls AS c ON t.op_id = c.op_id;

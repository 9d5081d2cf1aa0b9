-- Calls and asynchronous operations on files, with the place of their bytes: one row per row of
-- file_calls. Other programs replay these, and formats of theirs are made from them.
--   columns as in the view file_calls
--   position   of the first byte moved; NULL: the operation moves none, or it is unknown, or bytes are
--              copied between files
CREATE VIEW file_transfers AS
WITH
  -- One row per number: in a forged trace, thousands of operations may share one.
  positions AS (
    SELECT op_id, ts_ns, min(position) AS position
    FROM call_positions
    WHERE layer IN (SELECT asked_layer FROM asked_layers)
    GROUP BY op_id, ts_ns
  )
SELECT c.class AS class, c.call AS call, c.op_id AS op_id, c.pid AS pid, c.tid AS tid, c.ts_ns AS ts_ns, c.until_ns AS until_ns,
       c.duration_ns AS duration_ns, c.bytes AS bytes, c.error AS error, c.file AS file, c.path AS path, c.program AS program,
       p.position AS position
FROM file_calls AS c LEFT JOIN positions AS p ON c.op_id = p.op_id AND c.ts_ns = p.ts_ns;

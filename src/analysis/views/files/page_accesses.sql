-- The pages of files that calls read and wrote: one row per call with bytes and a known position, in
-- the layers of asked_layers. `iotrail cache` simulates caches on these rows, in the order of time.
-- Loads and stores of mapped files are no calls, and missing.
--   ts_ns, op_id, pid, file   as in events
--   is_read           true: it read; false: it wrote
--   first_page, pages   the first page of 4096 bytes that it touched, and their number
--   bytes             bytes moved
CREATE VIEW page_accesses AS
WITH
  moved AS (
    SELECT e.ts_ns AS ts_ns, e.op_id AS op_id, e.pid AS pid, e.file AS file, reads(e.class) AS is_read, e.bytes AS bytes,
           p.position AS position
    FROM events AS e
      JOIN call_positions AS p ON e.layer = p.layer AND e.op_id = p.op_id AND e.ts_ns = p.ts_ns
      LEFT JOIN files_without_device AS n ON e.file = n.file
    WHERE e.layer IN (SELECT asked_layer FROM asked_layers) AND moves_bytes(e.class) AND e.bytes > 0 AND e.file <> 0
      AND n.file IS NULL
  )
SELECT ts_ns, op_id, pid, file, is_read, position // 4096 AS first_page,
       CAST(plus(position, bytes - 1) // 4096 - position // 4096 + 1 AS UBIGINT) AS pages, bytes
FROM moved;

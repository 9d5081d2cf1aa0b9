-- The pages of files that calls read and wrote: one row per call with bytes and a known position, in
-- the layers of asked_layers. `iotrail cache` simulates caches on these rows, in the order of time.
-- Loads and stores of mapped files are no calls, and missing.
--   ts_ns, op_id, pid, file   as in events
--   is_read           true: it read; false: it wrote
--   first_page, pages   the first page of 4096 bytes that it touched, and their number
--   bytes             bytes moved
CREATE VIEW page_accesses AS
SELECT ts_ns, op_id, pid, file, is_read, position // 4096 AS first_page,
       CAST(plus(position, bytes - 1) // 4096 - position // 4096 + 1 AS UBIGINT) AS pages, bytes
FROM file_accesses
WHERE is_asked(layer);

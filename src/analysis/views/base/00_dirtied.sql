-- Pages that became dirty: one row per selected cache_dirty. A folio of several pages becomes dirty as a
-- whole, but only those that its call wrote to count: the file system writes back no others.
--   ts_ns, op_id, file   as in cache_dirty
--   bytes                of whole pages
CREATE VIEW dirtied AS
WITH
  stores AS (
    SELECT op_id, file, position, result AS bytes FROM syscall_write
    UNION ALL
    SELECT op_id, file, position, result AS bytes FROM vfs_write
    UNION ALL
    SELECT op_id, file, position, bytes FROM async_operation
    WHERE op_id IN (SELECT op_id FROM events WHERE event = 'async_operation' AND writes(class) AND NOT copies(class))
  ),
  -- The bytes of the pages that a call wrote to.
  ranges AS (
    SELECT op_id AS store_op, file AS store_file, min(quotient(position, bytes_of_pages(1))) * bytes_of_pages(1) AS begin_byte,
           max(quotient(CAST(position AS HUGEINT) + bytes + bytes_of_pages(1) - 1, bytes_of_pages(1))) * bytes_of_pages(1) AS end_byte
    FROM stores
    WHERE op_id <> 0 AND position >= 0 AND bytes > 0
    GROUP BY op_id, file
  ),
  folios AS (
    SELECT ts_ns AS folio_ns, op_id AS folio_op, file AS folio_file, CAST(first_page AS HUGEINT) * bytes_of_pages(1) AS first_byte,
           CAST(first_page AS HUGEINT) * bytes_of_pages(1) + bytes_of_pages(pages) AS last_byte
    FROM cache_dirty
    WHERE pages > 1 AND op_id <> 0
  ),
  clipped AS (
    SELECT folio_ns, folio_op, folio_file, min(greatest(least(last_byte, end_byte) - greatest(first_byte, begin_byte), 0)) AS bytes
    FROM folios JOIN ranges ON folio_op = store_op AND folio_file = store_file
    GROUP BY folio_ns, folio_op, folio_file
  )
SELECT e.ts_ns AS ts_ns, e.op_id AS op_id, e.file AS file,
       CASE WHEN c.bytes < e.bytes THEN CAST(c.bytes AS UBIGINT) ELSE e.bytes END AS bytes
FROM events AS e
  LEFT JOIN clipped AS c ON e.ts_ns = c.folio_ns AND e.op_id = c.folio_op AND e.file = c.folio_file
WHERE e.event = 'cache_dirty';

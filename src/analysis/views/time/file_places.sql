-- Where files were read and written when: one row per file, place and bin of time. It has the 6 files
-- with the most bytes moved by calls at known positions, at least 64 KiB of each.
--   path            of the file, as in file_names
--   place           from 0 to 63: 64 equal parts of size_bytes
--   size_bytes      end of the last byte moved
--   bin             from 0, in steps of map_bin_ns (time_grid), of the begins of calls
--   bytes_read, bytes_written   moved at that place
CREATE VIEW file_places AS
WITH
  moved AS (
    SELECT f.path AS path, reads(e.class) AS is_read, CAST(p.position AS HUGEINT) AS position, CAST(e.bytes AS HUGEINT) AS bytes,
           CAST(least(quotient(minus(e.ts_ns, r.begin_ns), g.map_bin_ns), 199) AS BIGINT) AS bin
    FROM events AS e
      JOIN call_positions AS p ON e.layer = p.layer AND e.op_id = p.op_id AND e.ts_ns = p.ts_ns
      JOIN file_names AS f ON e.file = f.file
      CROSS JOIN run AS r
      CROSS JOIN time_grid AS g
    WHERE is_asked(e.layer) AND e.bytes > 0 AND moves_bytes(e.class) AND NOT copies(e.class) AND f.path LIKE '/%'
  ),
  sizes AS (
    SELECT path, max(position + bytes) AS size_bytes FROM moved GROUP BY path HAVING total(bytes) >= 65536
    ORDER BY total(bytes) DESC, path LIMIT 6
  ),
  parts AS (
    SELECT m.*, s.size_bytes AS size_bytes,
           unnest(range(CAST(quotient(m.position * 64, s.size_bytes) AS BIGINT), CAST(quotient((m.position + m.bytes - 1) * 64, s.size_bytes) AS BIGINT) + 1)) AS place
    FROM moved AS m JOIN sizes AS s ON m.path = s.path
  ),
  cut AS (
    SELECT path, CAST(place AS INTEGER) AS place, CAST(size_bytes AS UBIGINT) AS size_bytes, bin, is_read,
           least(position + bytes, quotient((place + 1) * size_bytes + 63, 64)) - greatest(position, quotient(place * size_bytes + 63, 64)) AS bytes
    FROM parts
  )
SELECT path, place, size_bytes, bin, coalesce(total(CASE WHEN is_read THEN bytes END), 0) AS bytes_read,
       coalesce(total(CASE WHEN NOT is_read THEN bytes END), 0) AS bytes_written
FROM cut WHERE bytes > 0
GROUP BY path, place, size_bytes, bin;

-- Where devices worked when: one row per device, place and bin of time, of the 4 devices with the
-- most bytes. Places are at most 80 and in the order of addresses; what was not used has no place.
--   device                 as in devices
--   device_name            its name
--   place                  from 0
--   from_bytes, to_bytes   its first address, and the one behind its last
--   bin                    from 0, in steps of map_bin_ns (time_grid)
--   bytes_read, bytes_written, bytes_other   completed; other: discards and the like
CREATE VIEW device_places AS
WITH
  asked AS (
    SELECT q.device AS device, q.class AS class, CAST(q.sector AS HUGEINT) * 512 AS position, q.bytes AS bytes,
           CAST(least(quotient(minus(plus(q.ts_ns, q.duration_ns), r.begin_ns), g.map_bin_ns), 199) AS BIGINT) AS bin
    FROM requests AS q CROSS JOIN run AS r CROSS JOIN time_grid AS g
    WHERE q.bytes > 0
  ),
  sizes AS (
    SELECT device, (max(position + bytes) // 65536 // 65536 + 1) * 65536 AS chunk_bytes
    FROM asked GROUP BY device ORDER BY total(bytes) DESC, device LIMIT 4
  ),
  located AS MATERIALIZED (
    SELECT a.*, s.chunk_bytes AS chunk_bytes, quotient(a.position, s.chunk_bytes) AS chunk
    FROM asked AS a JOIN sizes AS s ON a.device = s.device
  ),
  chunks AS (
    SELECT device, chunk_bytes, chunk, row_number() OVER (PARTITION BY device ORDER BY chunk) - 1 AS number,
           count(*) OVER (PARTITION BY device) AS chunks
    FROM (SELECT DISTINCT device, chunk_bytes, chunk FROM located)
  ),
  placed AS (SELECT *, CAST(number * least(80, chunks) // chunks AS INTEGER) AS place FROM chunks),
  axis AS (
    SELECT device, place, min(chunk) * any_value(chunk_bytes) AS from_bytes, (max(chunk) + 1) * any_value(chunk_bytes) AS to_bytes
    FROM placed GROUP BY device, place
  )
SELECT a.device AS device, coalesce(any_value(d.name), 'device ' || a.device) AS device_name, p.place AS place,
       CAST(any_value(x.from_bytes) AS UBIGINT) AS from_bytes, CAST(any_value(x.to_bytes) AS UBIGINT) AS to_bytes, a.bin AS bin,
       coalesce(total(CASE WHEN reads(a.class) THEN a.bytes END), 0) AS bytes_read,
       coalesce(total(CASE WHEN writes(a.class) THEN a.bytes END), 0) AS bytes_written,
       coalesce(total(CASE WHEN NOT reads(a.class) AND NOT writes(a.class) THEN a.bytes END), 0) AS bytes_other
FROM located AS a
  JOIN placed AS p ON a.device = p.device AND a.chunk = p.chunk
  JOIN axis AS x ON p.device = x.device AND p.place = x.place
  LEFT JOIN devices AS d ON a.device = d.device
GROUP BY a.device, p.place, a.bin;

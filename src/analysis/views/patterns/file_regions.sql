-- Which parts of each file were accessed: one row per layer, file, disk, direction and region. The
-- range from the first to the last byte accessed has 64 regions of equal length; in a file it begins
-- at 0.
--   layer, file, device, path, direction   as in access_streams
--   region            from 0 to 63
--   from_byte, to_byte   the first byte of the region, and the one behind its last
--   accesses          accesses that touch it
--   bytes             bytes accessed in it; together those of file_profiles
CREATE VIEW file_regions AS
WITH
  accessed AS (
    SELECT layer, file, device, is_read, CAST(position AS HUGEINT) AS from_byte, CAST(plus(position, bytes) AS HUGEINT) AS to_byte, count(*) AS accesses
    FROM file_accesses
    GROUP BY layer, file, device, is_read, position, bytes
  ),
  ranges AS (
    SELECT layer, file, device, CASE device WHEN 0 THEN 0 ELSE min(from_byte) END AS begin_byte, max(to_byte) AS end_byte
    FROM accessed
    GROUP BY layer, file, device
  ),
  placed AS (
    SELECT a.*, r.begin_byte AS begin_byte, r.end_byte - r.begin_byte AS length,
           unnest(range(CAST(quotient((a.from_byte - r.begin_byte) * 64, r.end_byte - r.begin_byte) AS BIGINT),
                        CAST(quotient((a.to_byte - 1 - r.begin_byte) * 64, r.end_byte - r.begin_byte) AS BIGINT) + 1)) AS region
    FROM accessed AS a JOIN ranges AS r ON a.layer = r.layer AND a.file = r.file AND a.device = r.device
    WHERE a.to_byte > a.from_byte
  ),
  cut AS (
    SELECT *, begin_byte + quotient(region * length + 63, 64) AS region_begin, begin_byte + quotient((region + 1) * length + 63, 64) AS region_end
    FROM placed
  ),
  sums AS (
    SELECT layer, file, device, is_read, region, region_begin, region_end, total(accesses) AS accesses,
           total(accesses * (least(to_byte, region_end) - greatest(from_byte, region_begin))) AS bytes
    FROM cut
    GROUP BY layer, file, device, is_read, region, region_begin, region_end
  )
SELECT s.layer AS layer, s.file AS file, n.path AS path, s.device AS device, CASE WHEN s.is_read THEN 'read' ELSE 'write' END AS direction,
       CAST(s.region AS INTEGER) AS region, CAST(s.region_begin AS UBIGINT) AS from_byte, CAST(s.region_end AS UBIGINT) AS to_byte,
       s.accesses AS accesses, s.bytes AS bytes
FROM sums AS s LEFT JOIN file_names AS n ON s.file = n.file
WHERE s.bytes > 0;

-- How each file was accessed, with rates: one row per layer, file, disk and direction.
--   layer, file, device, path, direction   as in access_streams
--   streams           number of streams
--   accesses, bytes   number of accesses, and the sum of their bytes
--   sequential, repeated, reverse, strided, random   number of accesses of each kind within their streams
--   sequential_share, random_share   these by all accesses but the first of each stream; NULL: no others
--   in_order_share    accesses of any stream that begin at the end of the one before, by all but the first:
--                     smaller than sequential_share if streams take turns
--   bytes_min, bytes_mean, bytes_max   sizes of accesses
--   aligned           accesses that begin and end at multiples of 4096 bytes
--   alignment_bytes   the largest power of two to which all of them are aligned
--   distinct_bytes    bytes that were accessed at least once
--   again_share       bytes accessed again by all bytes; for writes, the share of rewritten bytes
--   from_ns, until_ns   begin of the first access, and end of the last
--   iops_4k           bytes in units of 4096 bytes by that time, per second; NULL: no time passed
--   mib_per_s         MiB by that time, per second
CREATE VIEW file_profiles AS
WITH
  ordered AS (
    SELECT *, lag(plus(position, bytes)) OVER (PARTITION BY layer, device, file, is_read ORDER BY ts_ns, op_id, position) AS file_end
    FROM access_steps
  ),
  sums AS (
    SELECT layer, file, device, is_read, count(*) FILTER (kind = 'first') AS streams, count(*) AS accesses, total(bytes) AS bytes,
           count(*) FILTER (kind = 'sequential') AS sequential, count(*) FILTER (kind = 'repeated') AS repeated,
           count(*) FILTER (kind = 'reverse') AS reverse, count(*) FILTER (kind = 'strided') AS strided,
           count(*) FILTER (kind = 'random') AS random, count(*) FILTER (position = file_end) AS in_order,
           min(bytes) AS bytes_min, mean(bytes) AS bytes_mean, max(bytes) AS bytes_max,
           count(*) FILTER (position % 4096 = 0 AND plus(position, bytes) % 4096 = 0) AS aligned,
           bit_or(position | bytes) AS used_bits, union_length(position, plus(position, bytes)) AS distinct_bytes,
           min(ts_ns) AS from_ns, max(until_ns) AS until_ns
    FROM ordered
    GROUP BY layer, file, device, is_read
  ),
  timed AS (SELECT *, nullif(minus(until_ns, from_ns), 0) AS ns FROM sums)
SELECT t.layer AS layer, t.file AS file, n.path AS path, t.device AS device, CASE WHEN t.is_read THEN 'read' ELSE 'write' END AS direction,
       t.streams AS streams, t.accesses AS accesses, t.bytes AS bytes, t.sequential AS sequential, t.repeated AS repeated,
       t.reverse AS reverse, t.strided AS strided, t.random AS random,
       t.sequential / nullif(t.accesses - t.streams, 0) AS sequential_share, t.random / nullif(t.accesses - t.streams, 0) AS random_share,
       t.in_order / nullif(t.accesses - 1, 0) AS in_order_share, t.bytes_min AS bytes_min, t.bytes_mean AS bytes_mean, t.bytes_max AS bytes_max,
       t.aligned AS aligned, t.used_bits & ~minus(t.used_bits, 1) AS alignment_bytes, t.distinct_bytes AS distinct_bytes,
       minus(t.bytes, t.distinct_bytes) / t.bytes AS again_share, t.from_ns AS from_ns, t.until_ns AS until_ns,
       1e9 / 4096 * t.bytes / t.ns AS iops_4k, 1e9 / 1048576 * t.bytes / t.ns AS mib_per_s
FROM timed AS t LEFT JOIN file_names AS n ON t.file = n.file;

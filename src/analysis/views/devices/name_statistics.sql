-- Device I/O on files by directory, name prefix and extension: one row per device, file system,
-- kind of name, name and operation, and one for all operations. Files count by their last name. I/O without a file, as for
-- metadata, is missing.
--   device, device_name   the whole disk
--   file_system       device number of the file system
--   kind              'directory': the directory that has the file; 'prefix': the file's name without its
--                     extension and the digits and marks before it; 'extension': what follows the last dot
--   name              the directory, the prefix or the extension
--   operation         'read', 'write', 'total': all
--   files             number of files
--   requests, errors  number of completed bios, or parts of bios, and of the failed ones
--   bytes, bytes_mean, bytes_min, bytes_max   their sizes
--   iops, mib_per_s   requests and MiB by the time between the first arrival at the device and its last
--                     completion
--   workset_bytes     the largest number of distinct bytes of the disk that were in use, as in device_statistics: a
--                     discard ends the use of its bytes
--   write_invalidation   bytes written by the workset of writes: how often each byte was written; NULL: none
CREATE VIEW name_statistics AS
WITH
  moved AS (
    SELECT device, file, direction AS operation, bytes, error, ts_ns, completed_ns, device_position
    FROM links
    WHERE completed_ns IS NOT NULL AND file <> 0 AND direction IN ('read', 'write') AND file NOT IN (SELECT file FROM disk_caches)
  ),
  bases AS (
    SELECT file, regexp_extract(path, '^(.*)/[^/]*$', 1) AS directory, regexp_extract(path, '[^/]*$') AS base
    FROM file_names
    WHERE path LIKE '/%'
  ),
  all_names AS (
    SELECT file, 'directory' AS kind, CASE directory WHEN '' THEN '/' ELSE directory END AS name FROM bases
    UNION ALL
    SELECT file, 'prefix' AS kind, regexp_replace(regexp_replace(base, '\.[^.]*$', ''), '[^A-Za-z]+$', '') AS name FROM bases
    UNION ALL
    SELECT file, 'extension' AS kind, regexp_extract(base, '[^.]*$') AS name FROM bases WHERE contains(base, '.')
  ),
  names AS (SELECT * FROM all_names WHERE name <> ''),
  grouped AS (
    SELECT m.*, n.kind AS kind, n.name AS name, f.device AS file_system
    FROM moved AS m JOIN names AS n ON m.file = n.file JOIN files AS f ON m.file = f.file
  ),
  counted AS (
    SELECT * FROM grouped
    UNION ALL
    SELECT * REPLACE ('total' AS operation) FROM grouped
  ),
  sums AS (
    SELECT device, file_system, kind, name, operation, count(DISTINCT file) AS files, count(*) AS requests,
           total(CASE WHEN is_error(error) THEN 1 ELSE 0 END) AS errors, total(bytes) AS bytes, mean(bytes) AS bytes_mean,
           min(bytes) AS bytes_min, max(bytes) AS bytes_max,
           total(CASE operation WHEN 'write' THEN bytes END) AS written, min(ts_ns) AS first_ns, max(ts_ns) AS last_ns,
           min(device_position) AS first_position, max(plus(device_position, bytes)) AS end_position
    FROM counted
    GROUP BY device, file_system, kind, name, operation
  ),
  discards AS (
    SELECT device, minus(ts_ns, queue_ns) AS ts_ns, CAST(least(CAST(sector AS HUGEINT) * 512, 18446744073709551615) AS UBIGINT) AS position, bytes
    FROM requests
    WHERE choice_text('block', flags) = 'discard' AND bytes > 0
  ),
  -- A discard before or after all I/O of a group, or elsewhere, changes nothing.
  changes AS (
    SELECT device, file_system, kind, name, operation, CAST(ts_ns AS UBIGINT) AS ts_ns, CAST(device_position AS UBIGINT) AS position, bytes, false AS is_removed
    FROM counted
    UNION ALL
    SELECT s.device, s.file_system, s.kind, s.name, s.operation, d.ts_ns, d.position, d.bytes, true
    FROM sums AS s JOIN discards AS d ON s.device = d.device
    WHERE d.ts_ns >= s.first_ns AND d.ts_ns <= s.last_ns AND d.position < s.end_position AND plus(d.position, d.bytes) > s.first_position
  ),
  worksets AS (
    SELECT device, file_system, kind, name, operation, peak_length(ts_ns, position, plus(position, bytes), is_removed) AS workset_bytes
    FROM changes
    GROUP BY device, file_system, kind, name, operation
  ),
  spans AS (
    SELECT device, nullif(minus(max(completed_ns), min(ts_ns)), 0) AS ns FROM links WHERE completed_ns IS NOT NULL GROUP BY device
  )
SELECT s.device AS device, d.name AS device_name, s.file_system AS file_system, s.kind AS kind, s.name AS name, s.operation AS operation, s.files AS files,
       s.requests AS requests, s.errors AS errors, s.bytes AS bytes, s.bytes_mean AS bytes_mean, s.bytes_min AS bytes_min,
       s.bytes_max AS bytes_max, 1e9 * s.requests / p.ns AS iops, 1e9 / 1048576 * s.bytes / p.ns AS mib_per_s,
       w.workset_bytes AS workset_bytes, s.written / nullif(w.workset_bytes, 0) AS write_invalidation
FROM sums AS s
  JOIN worksets AS w ON s.device = w.device AND s.file_system = w.file_system AND s.kind = w.kind AND s.name = w.name AND s.operation = w.operation
  JOIN spans AS p ON s.device = p.device
  LEFT JOIN devices AS d ON s.device = d.device;

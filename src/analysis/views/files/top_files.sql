-- Files by their use: one row per path. Calls count at the system calls if the trace has any, else
-- at the C library, else at the virtual file system.
--   path                                name of the file at that time, or the path in a call without a file
--                                       (for a rename, the new one); NULL: unknown
--   kind                                'file'; without a path: 'metadata' of file systems, or 'unknown'
--   inodes                              number of files that had the path, one after another or unlinked and
--                                       created again; 0: only paths in calls
--   is_removed                          1: files had that path, and all of them were removed from it
-- Asynchronous operations count as calls. Files with bytes only below the calls are included:
-- through mappings, or by io_uring or libaio if that was not recorded.
--   layer                               call_layer's, the same in all rows; NULL: none of these is recorded
--   operations, errors                  number of spans on the file, and of failed ones
--   bytes_read, bytes_written           bytes moved by calls, also by sending and receiving; a copy reads one
--                                       file and writes the other
--   syncs                               number of calls that asked for data to be safe on the device; not sync_file_range
--   total_ns                            sum of the durations; NULL: no calls
--   device_bytes_read, device_bytes_written   bytes that devices moved for the file without an error, as in links: a request
--                                             with several files is split. If the trace has no bios
--                                             (block_queue), all of it counts for the first file. NULL: none
--                                             was seen
--   cache_bytes_added, cache_bytes_dirtied    whole pages of the file brought into the page cache, and those
--                                             that became dirty; NULL: none was seen
CREATE VIEW top_files AS
WITH
  bios AS (SELECT count(*) > 0 AS has_bios FROM tables WHERE name = 'block_queue' AND row_count > 0),
  flows AS (
    SELECT layer, class, operation, file, to_file,
           CASE WHEN file IN (SELECT file FROM renamed_files) THEN path_at(file, named_at(layer, ts_ns, duration_ns)) END AS name_then,
           CASE WHEN to_file IN (SELECT file FROM renamed_files) THEN path_at(to_file, named_at(layer, ts_ns, duration_ns)) END AS to_name_then,
           count(*) AS operations, sum(bytes) AS bytes,
           sum(CASE WHEN is_error(error) THEN 1 ELSE 0 END) AS errors, sum(duration_ns) AS total_ns
    FROM events
    WHERE (duration_ns IS NOT NULL OR event = 'cache_add') AND (file <> 0 OR path = 0)
      AND (layer <> layer_at('devices') OR NOT (SELECT has_bios FROM bios))
    GROUP BY layer, class, operation, file, to_file, name_then, to_name_then
  ),
  stored AS (
    SELECT file, CASE WHEN file IN (SELECT file FROM renamed_files) THEN path_at(file, named_at(layer_at('pages'), ts_ns, NULL)) END AS name_then,
           count(*) AS operations, sum(bytes) AS cache_bytes
    FROM dirtied
    GROUP BY file, name_then
  ),
  sides AS (
    SELECT layer, class, operation, file, name_then, operations, errors, total_ns,
           CASE WHEN takes_bytes(class) THEN bytes ELSE 0 END AS bytes_read,
           CASE WHEN gives_bytes(class) AND NOT copies(class) THEN bytes ELSE 0 END AS bytes_written,
           CASE WHEN layer = layer_at('pages') THEN bytes END AS cache_bytes
    FROM flows
    UNION ALL
    SELECT layer, class, operation, to_file AS file, to_name_then AS name_then, operations, errors, total_ns, 0 AS bytes_read, bytes AS bytes_written,
           NULL AS cache_bytes
    FROM flows WHERE copies(class)
    UNION ALL
    SELECT layer_at('pages') AS layer, 'dirty' AS class, 'dirty' AS operation, file, name_then, operations, 0 AS errors, NULL AS total_ns,
           0 AS bytes_read, 0 AS bytes_written, cache_bytes
    FROM stored
  ),
  moved AS (
    SELECT layer_at('devices') AS layer, direction AS class,
           CASE WHEN cause IN ('metadata', 'other_metadata') THEN direction || ' metadata' ELSE direction END AS operation,
           coalesce(file, 0) AS file, CASE WHEN file IN (SELECT file FROM renamed_files) THEN path_at(file, ts_ns) END AS name_then,
           0 AS operations, 0 AS errors, 0 AS total_ns,
           CASE WHEN reads(direction) THEN bytes ELSE 0 END AS bytes_read,
           CASE WHEN writes(direction) THEN bytes ELSE 0 END AS bytes_written, NULL AS cache_bytes
    FROM links
    WHERE completed_ns IS NOT NULL AND NOT is_error(error) AND (SELECT has_bios FROM bios)
  ),
  named AS (
    SELECT s.* EXCLUDE (name_then), CASE WHEN d.file IS NULL THEN coalesce(s.name_then, n.path) END AS path,
           CASE WHEN d.file IS NOT NULL OR s.operation LIKE '% metadata' AND s.file = 0 THEN 'metadata'
                WHEN s.file <> 0 THEN 'file' ELSE 'unknown' END AS kind,
           CASE WHEN n.is_removed = 1 AND coalesce(s.name_then, n.path) = n.path THEN 1 ELSE 0 END AS is_removed
    FROM (SELECT * FROM sides UNION ALL SELECT * FROM moved) AS s
      LEFT JOIN file_names AS n ON s.file = n.file
      LEFT JOIN disk_caches AS d ON s.file = d.file
  ),
  only_named AS (
    SELECT p.layer AS layer, p.class AS class, p.class AS operation, 0 AS file, count(*) AS operations,
           sum(CASE WHEN is_error(p.error) THEN 1 ELSE 0 END) AS errors, sum(p.duration_ns) AS total_ns,
           0 AS bytes_read, 0 AS bytes_written, NULL AS cache_bytes,
           coalesce(p.to_path, p.path) AS path, 'file' AS kind, NULL AS is_removed
    FROM path_calls AS p
    GROUP BY p.layer, p.class, coalesce(p.to_path, p.path)
  ),
  everything AS (
    SELECT *, is_asked(layer) AS is_asked
    FROM (SELECT * FROM named UNION ALL SELECT * FROM only_named) AS n
  )
SELECT e.path AS path, e.kind AS kind, count(DISTINCT nullif(e.file, 0)) AS inodes,
       CAST(coalesce(min(e.is_removed), 0) AS INTEGER) AS is_removed, s.seen_layer AS layer,
       coalesce(total(CASE WHEN e.is_asked THEN e.operations END), 0) AS operations,
       coalesce(total(CASE WHEN e.is_asked THEN e.errors END), 0) AS errors,
       coalesce(total(CASE WHEN e.is_asked THEN e.bytes_read END), 0) AS bytes_read,
       coalesce(total(CASE WHEN e.is_asked THEN e.bytes_written END), 0) AS bytes_written,
       coalesce(total(CASE WHEN e.is_asked AND makes_durable(e.class) THEN e.operations END), 0) AS syncs,
       total(CASE WHEN e.is_asked THEN e.total_ns END) AS total_ns,
       total(CASE e.layer WHEN layer_at('devices') THEN e.bytes_read END) AS device_bytes_read,
       total(CASE e.layer WHEN layer_at('devices') THEN e.bytes_written END) AS device_bytes_written,
       total(CASE e.operation WHEN 'add' THEN e.cache_bytes END) AS cache_bytes_added,
       total(CASE e.operation WHEN 'dirty' THEN e.cache_bytes END) AS cache_bytes_dirtied
FROM everything AS e CROSS JOIN call_layer AS s
WHERE e.is_asked OR e.layer IN (layer_at('devices'), layer_at('pages'))
GROUP BY e.path, e.kind, s.seen_layer;

-- How many bytes each layer moved for the bytes that the layer above it moved, for reads and for writes of files.
-- Pipes, sockets, terminals and files of /proc and /sys never reach a device; they are counted in other_bytes only.
--   direction     'write' or 'read'
--   step          place of the layer on the way down: 1 app, 2 syscall, 3 vfs, 4 cache, 5 block
--   layer         layers without any event in the trace are left out
--   operations    events that moved the bytes
--   bytes         app, syscall, vfs: bytes returned by calls; cache: whole pages, of writes those that became dirty, of
--                 reads those that were brought in by other calls than writes; block: bytes the device completed
--   ratio         bytes of this layer by bytes of the next layer above that is there; NULL: no such layer, or 0 bytes
--   other_bytes   bytes of this layer to and from what is not a file on a device
--   explanation   why the bytes differ from those above, as far as the numbers tell; where events of a source were
--                 lost, the numbers of its layers tell nothing
CREATE VIEW amplification AS
WITH
  -- Bytes by file, so that the kinds of files are looked up once for each and not for every event.
  flows AS (
    SELECT layer, class AS direction, file, to_file, count(*) AS operations, sum(bytes) AS bytes
    FROM events
    WHERE class IN ('read', 'write', 'copy') AND layer IN ('app', 'syscall', 'vfs') AND error = 0
    GROUP BY layer, class, file, to_file
    UNION ALL
    SELECT 'cache' AS layer, 'write' AS direction, 0 AS file, 0 AS to_file, count(*) AS operations, sum(bytes) AS bytes
    FROM events
    WHERE event = 'cache_dirty'
    UNION ALL
    SELECT 'cache' AS layer, 'read' AS direction, 0 AS file, 0 AS to_file, count(*) AS operations, sum(bytes) AS bytes
    FROM events
    WHERE event = 'cache_add'
      AND op_id NOT IN (SELECT op_id FROM events WHERE event = 'syscall_write' AND op_id <> 0)
    UNION ALL
    SELECT layer, class AS direction, 0 AS file, 0 AS to_file, count(*) AS operations, sum(bytes) AS bytes
    FROM events
    WHERE event = 'block_complete' AND class IN ('read', 'write') AND error = 0
    GROUP BY layer, class
  ),
  -- A copy reads one file and writes another.
  sides AS (
    SELECT layer, direction, file, operations, bytes FROM flows WHERE direction <> 'copy'
    UNION ALL
    SELECT layer, 'read' AS direction, file, operations, bytes FROM flows WHERE direction = 'copy'
    UNION ALL
    SELECT layer, 'write' AS direction, to_file AS file, operations, bytes FROM flows WHERE direction = 'copy'
  ),
  others AS (SELECT file AS other_file FROM files_without_device),
  sums AS (
    SELECT layer, direction,
           CAST(sum(CASE WHEN other_file IS NULL THEN operations ELSE 0 END) AS BIGINT) AS operations,
           CAST(sum(CASE WHEN other_file IS NULL THEN coalesce(bytes, 0) ELSE 0 END) AS BIGINT) AS bytes,
           CAST(sum(CASE WHEN other_file IS NULL THEN 0 ELSE coalesce(bytes, 0) END) AS BIGINT) AS other_bytes
    FROM sides LEFT JOIN others ON file = other_file
    GROUP BY layer, direction
  ),
  -- A layer that was recorded and moved nothing is a step of 0 bytes, except the cache: direct I/O goes around it.
  directions AS (SELECT DISTINCT direction AS way FROM sums WHERE bytes + other_bytes > 0),
  present AS (
    SELECT DISTINCT layer AS place, way
    FROM tables CROSS JOIN directions
    WHERE row_count > 0 AND layer IN ('app', 'syscall', 'vfs', 'cache', 'block')
  ),
  steps AS (
    SELECT p.way AS direction, p.place AS layer, coalesce(s.operations, 0) AS operations,
           coalesce(s.bytes, 0) AS bytes, coalesce(s.other_bytes, 0) AS other_bytes,
           CASE p.place WHEN 'app' THEN 1 WHEN 'syscall' THEN 2 WHEN 'vfs' THEN 3 WHEN 'cache' THEN 4 ELSE 5 END AS step
    FROM present AS p LEFT JOIN sums AS s ON p.place = s.layer AND p.way = s.direction
    WHERE p.place <> 'cache' OR s.bytes > 0
  ),
  pairs AS (
    SELECT direction, step, layer, operations, bytes, other_bytes,
           lag(layer) OVER (PARTITION BY direction ORDER BY step) AS above,
           lag(operations) OVER (PARTITION BY direction ORDER BY step) AS above_operations,
           lag(bytes) OVER (PARTITION BY direction ORDER BY step) AS above_bytes
    FROM steps
  ),
  -- A trace without an end has no tallies, but losses located in time.
  lost AS (
    SELECT source FROM source_tallies WHERE lost > 0
    UNION
    SELECT l.source FROM losses() AS l JOIN counters AS c ON l.counter = c.counter WHERE c.severity = 'loss'
  ),
  asynchronous AS (
    SELECT count(*) > 0 AS is_asynchronous
    FROM tables
    WHERE name IN ('syscall_aio_submit', 'syscall_uring_enter') AND row_count > 0
  ),
  -- Files are written through mappings that are shared (flags) and writable (prot). Without any call of mmap, files may
  -- have been mapped before the recording began, or calls not been recorded: then it is taken for possible.
  mappings AS (
    SELECT file, prot, flags FROM syscall_mmap
    UNION ALL
    SELECT file, prot, flags FROM app_mmap
  ),
  mapped AS (
    SELECT coalesce(max(CASE WHEN file <> 0 THEN 1 ELSE 0 END), 1) = 1 AS is_read_mapped,
           coalesce(max(CASE WHEN file <> 0 AND prot & 2 <> 0 AND flags & 1 <> 0 THEN 1 ELSE 0 END), 1) = 1
             AS is_write_mapped
    FROM mappings
  ),
  -- What brings bytes to a layer that are not of the calls above.
  reasons AS (
    SELECT pairs.*,
           EXISTS (SELECT * FROM lost WHERE source <> 'preload' OR above = 'app') AS is_lossy,
           CASE WHEN is_asynchronous AND bytes > above_bytes AND layer IN ('cache', 'block')
             THEN 'io_uring or libaio, whose transfers are no read or write calls; ' ELSE '' END
             || CASE WHEN bytes > above_bytes AND layer IN ('cache', 'block') AND above <> 'cache'
                       AND CASE direction WHEN 'read' THEN is_read_mapped ELSE is_write_mapped END
                  THEN 'mapped files; ' ELSE '' END AS past_the_calls
    FROM pairs CROSS JOIN asynchronous CROSS JOIN mapped
  )
SELECT direction, step, layer, operations, bytes,
       CASE WHEN above_bytes > 0 THEN round(bytes / above_bytes, 3) ELSE NULL END AS ratio,
       other_bytes,
       CASE
         WHEN above IS NULL THEN 'the first layer recorded'
         WHEN is_lossy THEN 'events were lost: see Losses'
         WHEN layer = 'syscall' AND bytes = above_bytes AND operations < above_operations
           THEN 'stdio buffering: ' || above_operations || ' calls became ' || operations
         WHEN layer = 'syscall' AND direction = 'read' AND bytes > above_bytes AND operations < above_operations
           THEN 'stdio buffering: ' || above_operations || ' calls became ' || operations || ', of whole buffers'
         WHEN layer = 'syscall' AND bytes = above_bytes THEN 'the same bytes'
         WHEN layer = 'syscall' AND bytes > above_bytes AND direction = 'read'
           THEN 'stdio reads whole buffers; the loader, and calls past the C library'
         WHEN layer = 'syscall' AND bytes > above_bytes
           THEN 'system calls past the C library, or by programs that were not preloaded'
         WHEN layer = 'syscall' AND direction = 'read' THEN 'served from stdio buffers'
         WHEN layer = 'syscall' THEN 'still in stdio buffers, or to streams that were never flushed'
         WHEN layer = 'vfs' AND bytes = above_bytes THEN 'the same bytes'
         WHEN layer = 'vfs' AND bytes > above_bytes THEN 'stacked file systems pass calls on to another file'
         WHEN layer = 'vfs' THEN 'copies and asynchronous calls enter the file system elsewhere'
         WHEN layer = 'cache' AND bytes = above_bytes THEN 'the same bytes'
         WHEN layer = 'cache' AND direction = 'write' AND bytes > above_bytes
           THEN past_the_calls || 'pages become dirty whole, in folios of up to many pages'
         WHEN layer = 'cache' AND direction = 'write'
           THEN 'pages that were dirty already took further writes, or direct I/O passed by'
         WHEN layer = 'cache' AND bytes > above_bytes THEN past_the_calls || 'read-ahead, whole pages'
         WHEN layer = 'cache' THEN 'found in the page cache, or direct I/O passed by'
         WHEN bytes = above_bytes AND above <> 'cache' AND direction = 'write'
           THEN 'the same bytes: direct I/O, or each write went through'
         WHEN bytes = above_bytes AND above <> 'cache' THEN 'the same bytes: direct I/O, or nothing was cached'
         WHEN bytes = above_bytes THEN 'the same bytes'
         WHEN direction = 'write' AND bytes > above_bytes
           THEN past_the_calls || 'journal and metadata, pages dirty before the recording or written more than once, direct I/O'
         WHEN direction = 'write' AND above = 'cache'
           THEN 'only the changed blocks of dirty folios are written, some after the recording ended, some never: deleted before, or in memory file systems'
         WHEN direction = 'write' THEN 'not yet written when the recording ended, or deleted before; memory file systems'
         WHEN bytes > above_bytes THEN past_the_calls || 'read-ahead, metadata, and direct I/O past the cache'
         ELSE 'found in the page cache, or filled without the device: holes, memory file systems'
       END AS explanation
FROM reasons;

-- The bytes that each layer moved per byte of the layer above, for reads and writes of files: one
-- row per direction and layer. Pipes, sockets, terminals and files of /proc and /sys never reach a
-- device, so only other_bytes counts them. other_bytes also counts what the kernel caches of a disk
-- itself: metadata of file systems, and buffered I/O on the device node.
--   direction     'write' or 'read'
--   step          rank of the layer from the top down, see layer_list
--   layer         layers without any event in the trace are missing; asynchronous operations count as system
--                 calls
--   operations    number of events that moved the bytes
--   bytes         app, syscall, vfs: bytes returned by calls; cache: whole pages: for writes those that became
--                 dirty, for reads those brought in and not made dirty by the same operation; block: bytes that
--                 the device completed
--   ratio         bytes of this layer by bytes of the next recorded layer above; NULL: no such layer, or 0
--                 bytes
--   other_bytes   bytes of this layer to and from anything but a file on a device
--   lost_share    share of lost events, of this layer's source or that above; NULL: none
--   explanation   why the bytes differ from those above, as far as the numbers show; it mentions a loss of more
--                 than one event in a hundred
-- Computed from layer_bytes, the numbers, and byte_rules, the text.

-- One row per direction and layer, with its bytes and those of the next recorded layer above.
--   columns as in amplification, and
--   above, above_operations, above_bytes   the layer above and its numbers; NULL: none
--   bytes_are         'more', 'less' or 'same' than above; 'first': no layer above
--   calls_are         'fewer' than above, else 'other'
--   is_asynchronous   1: more bytes than the calls moved; io_uring or libaio were used, but their operations
--                     were not recorded
--   is_mapped         1: more bytes than the calls moved; files were mapped, or may have been
CREATE VIEW layer_bytes AS
WITH
  -- If one operation adds a page and makes it dirty, it added the page to write it.
  stored AS (SELECT DISTINCT op_id AS op, file AS of_file, first_page AS page FROM cache_dirty WHERE op_id <> 0),
  added AS (SELECT DISTINCT op_id AS op, file AS of_file FROM events WHERE event = 'cache_add'),
  -- Bytes by file, so that the kind of a file is looked up once per file and not per event.
  flows AS (
    SELECT counts_for(layer) AS layer, class AS direction, file, to_file,
           count(*) AS operations, sum(bytes) AS bytes
    FROM events
    WHERE moves_bytes(class) AND duration_ns IS NOT NULL AND error = 0
    GROUP BY 1, class, file, to_file
    UNION ALL
    SELECT layer_at('pages') AS layer, 'write' AS direction, file, 0 AS to_file, count(*) AS operations, sum(bytes) AS bytes
    FROM dirtied
    GROUP BY file
    UNION ALL
    SELECT layer, 'read' AS direction, file, 0 AS to_file, count(*) AS operations, sum(bytes) AS bytes
    FROM events
    WHERE event = 'cache_add'
    GROUP BY layer, file
    UNION ALL
    SELECT layer_at('pages') AS layer, 'read' AS direction, a.file AS file, 0 AS to_file, -count(*) AS operations,
           -total(bytes_of_pages(a.pages)) AS bytes
    FROM cache_add AS a
      JOIN stored AS d ON a.op_id = d.op AND a.file = d.of_file AND a.first_page = d.page
      JOIN added AS s ON a.op_id = s.op AND a.file = s.of_file
    GROUP BY a.file
  ),
  -- A copy reads one file and writes another.
  sides AS (
    SELECT layer, direction, file, operations, bytes FROM flows WHERE NOT copies(direction)
    UNION ALL
    SELECT layer, 'read' AS direction, file, operations, bytes FROM flows WHERE copies(direction)
    UNION ALL
    SELECT layer, 'write' AS direction, to_file AS file, operations, bytes FROM flows WHERE copies(direction)
  ),
  others AS (SELECT file AS other_file FROM files_without_device UNION SELECT file FROM disk_caches),
  sums AS (
    SELECT layer, direction,
           total(CASE WHEN other_file IS NULL THEN operations ELSE 0 END) AS operations,
           total(CASE WHEN other_file IS NULL THEN coalesce(bytes, 0) ELSE 0 END) AS bytes,
           total(CASE WHEN other_file IS NULL THEN 0 ELSE coalesce(bytes, 0) END) AS other_bytes
    FROM sides LEFT JOIN others ON file = other_file
    GROUP BY layer, direction
  ),
  -- A recorded layer that moved nothing is a step of 0 bytes. The cache is an exception, because
  -- direct I/O bypasses it.
  directions AS (SELECT DISTINCT direction AS way FROM sums WHERE bytes > 0 OR other_bytes > 0),
  present AS (
    SELECT layer AS place, depth, source, has_spans
    FROM layer_list
    WHERE moves_bytes AND layer <> layer_at('later')
      AND layer IN (SELECT counts_for(layer) FROM tables WHERE row_count > 0)
  ),
  steps AS (
    SELECT d.way AS direction, p.place AS layer, p.depth AS step, p.source AS source,
           coalesce(s.operations, 0) AS operations, coalesce(s.bytes, 0) AS bytes,
           coalesce(s.other_bytes, 0) AS other_bytes
    FROM present AS p CROSS JOIN directions AS d LEFT JOIN sums AS s ON p.place = s.layer AND d.way = s.direction
    WHERE p.has_spans OR s.bytes > 0
  ),
  pairs AS (
    SELECT direction, step, layer, source, operations, bytes, other_bytes,
           lag(layer) OVER (PARTITION BY direction ORDER BY step) AS above,
           lag(source) OVER (PARTITION BY direction ORDER BY step) AS above_source,
           lag(operations) OVER (PARTITION BY direction ORDER BY step) AS above_operations,
           lag(bytes) OVER (PARTITION BY direction ORDER BY step) AS above_bytes
    FROM steps
  ),
  -- A trace without an end has no tallies, but losses located in time. Losses of the store may
  -- belong to any layer.
  recorded AS (SELECT sum(row_count) AS row_count FROM tables WHERE layer IN (SELECT layer FROM layer_list)),
  located AS (
    SELECT l.source AS lost_source, sum(l.events) AS lost_events
    FROM losses() AS l JOIN counters AS c ON l.counter = c.counter
    WHERE c.severity = 'loss' AND l.source NOT IN (SELECT source FROM source_tallies)
    GROUP BY l.source
  ),
  lost AS (
    SELECT source AS lost_source, CASE WHEN lost < produced THEN lost / produced ELSE 1 END AS share FROM source_tallies WHERE lost > 0
    UNION ALL
    SELECT lost_source, lost_events / (lost_events + row_count) AS share FROM located CROSS JOIN recorded
  ),
  asynchronous AS (
    SELECT NOT EXISTS (SELECT name FROM tables WHERE layer = layer_at('later') AND row_count > 0) AND
           (SELECT count(*) FROM tables
            WHERE name IN ('syscall_aio_submit', 'syscall_uring_enter') AND row_count > 0)
         + (SELECT count(*) FROM files WHERE path = 'anon_inode:[io_uring]') > 0 AS was_asynchronous
  ),
  -- Writes to files need mappings that are shared and writable. Without any call of mmap, files may
  -- have been mapped before the recording, or calls were not recorded: then a mapping is possible.
  mappings AS (
    SELECT file, prot, flags FROM syscall_mmap
    UNION ALL
    SELECT file, prot, flags FROM app_mmap
  ),
  mapped AS (
    SELECT coalesce(max(CASE WHEN file <> 0 THEN 1 ELSE 0 END), 1) = 1 AS is_read_mapped,
           coalesce(max(CASE WHEN file <> 0 AND bitAnd(m.prot, p.mask) = p.number AND bitAnd(m.flags, s.mask) = s.number
                          THEN 1 ELSE 0 END), 1) = 1 AS is_write_mapped
    FROM mappings AS m
      JOIN value_names AS p ON p.value_table = 'prot' AND p.name = 'PROT_WRITE'
      JOIN value_names AS s ON s.value_table = 'map' AND s.name IN ('MAP_SHARED', 'MAP_SHARED_VALIDATE')
  )
SELECT direction, step, layer, operations, bytes, other_bytes, above, above_operations, above_bytes,
       CASE
         WHEN above IS NULL THEN 'first'
         WHEN bytes > above_bytes THEN 'more'
         WHEN bytes < above_bytes THEN 'less'
         ELSE 'same'
       END AS bytes_are,
       (SELECT max(share) FROM lost
        WHERE lost_source IN (source, above_source) OR lost_source NOT IN (SELECT source FROM layer_list)) AS lost_share,
       CASE WHEN operations < above_operations THEN 'fewer' ELSE 'other' END AS calls_are,
       was_asynchronous AND bytes > above_bytes AS is_asynchronous,
       CASE direction WHEN 'read' THEN is_read_mapped ELSE is_write_mapped END AND bytes > above_bytes
         AND above <> layer_at('pages') AS is_mapped
FROM pairs CROSS JOIN asynchronous CROSS JOIN mapped;

-- The reasons for which a layer moves other bytes than the one above: one row per rule. The
-- matching rule with the smallest number counts.
--   number      order; the smallest matching number counts
--   place       place of the layer, as in layer_list; '': any
--   direction, bytes_are, calls_are   of layer_bytes; '': any
--   above       place of the layer above; 'calls': any but 'pages'; '': any
--   names_ways  1: the text first lists the ways past the calls that were used
--   words       text; {above} and {here} stand for the numbers of operations
CREATE TABLE byte_rules (number INTEGER, place VARCHAR, direction VARCHAR, above VARCHAR, bytes_are VARCHAR,
                         calls_are VARCHAR, names_ways BOOLEAN, words VARCHAR);
INSERT INTO byte_rules VALUES
  (1, '', '', '', 'first', '', false, 'the first layer recorded'),
  (10, 'kernel', '', '', 'same', 'fewer', false, 'stdio buffering: {above} calls became {here}'),
  (11, 'kernel', 'read', '', 'more', 'fewer', false, 'stdio buffering: {above} calls became {here}, of whole buffers'),
  (12, 'kernel', 'read', '', 'more', '', false, 'stdio reads whole buffers; the loader, io_uring and libaio, and other calls that the app layer does not see'),
  (13, 'kernel', 'write', '', 'more', '', false,
   'io_uring and libaio, and calls that the app layer does not see (README, Limits), as of programs that were not preloaded'),
  (14, 'kernel', 'read', '', 'less', '', false, 'served from stdio buffers'),
  (15, 'kernel', 'write', '', 'less', '', false, 'still in stdio buffers, or to streams that were never flushed'),
  (20, 'files', '', '', 'more', '', false, 'stacked file systems pass calls on to another file'),
  (21, 'files', '', '', 'less', '', false, 'copies and asynchronous calls enter the file system elsewhere'),
  (30, 'pages', 'write', '', 'more', '', true, 'pages become dirty whole, in folios of up to many pages'),
  (31, 'pages', 'write', '', 'less', '', false,
   'pages that were dirty already took further writes, or direct I/O passed by'),
  (32, 'pages', 'read', '', 'more', '', true, 'read-ahead, whole pages'),
  (33, 'pages', 'read', '', 'less', '', false, 'found in the page cache, or direct I/O passed by'),
  (40, 'devices', 'write', 'calls', 'same', '', false, 'the same bytes: direct I/O, or each write went through'),
  (41, 'devices', 'read', 'calls', 'same', '', false, 'the same bytes: direct I/O, or nothing was cached'),
  (42, 'devices', 'write', '', 'more', '', true,
   'journal and metadata, pages dirty before the recording or written more than once, direct I/O'),
  (43, 'devices', 'write', 'pages', 'less', '', false,
   'only the changed blocks of dirty folios are written, some after the recording ended, some never: deleted before, or in memory file systems'),
  (44, 'devices', 'write', '', 'less', '', false,
   'not yet written when the recording ended, or deleted before; memory file systems'),
  (45, 'devices', 'read', '', 'more', '', true, 'read-ahead, metadata, and direct I/O past the cache'),
  (46, 'devices', 'read', '', 'less', '', false,
   'found in the page cache, or filled without the device: holes, memory file systems'),
  (90, '', '', '', 'same', '', false, 'the same bytes'),
  (99, '', '', '', '', '', false, '');

CREATE VIEW amplification AS
WITH
  fitting AS (
    SELECT b.direction AS fit_direction, b.step AS fit_step, min(r.number) AS rule
    FROM layer_bytes AS b
      JOIN layer_list AS l ON b.layer = l.layer
      JOIN byte_rules AS r ON r.place IN ('', l.place) AND r.direction IN ('', b.direction)
        AND r.bytes_are IN ('', b.bytes_are) AND r.calls_are IN ('', b.calls_are)
        AND r.above IN ('', CASE b.above WHEN layer_at('pages') THEN 'pages' ELSE 'calls' END)
    GROUP BY b.direction, b.step
  )
SELECT b.direction AS direction, b.step AS step, b.layer AS layer, b.operations AS operations, b.bytes AS bytes,
       CASE WHEN b.above_bytes > 0 THEN round(b.bytes / b.above_bytes, 3) ELSE NULL END AS ratio,
       b.other_bytes AS other_bytes, b.lost_share AS lost_share,
       CASE WHEN b.lost_share >= 0.01 AND b.above IS NOT NULL
         THEN CAST(round(b.lost_share * 100) AS INTEGER) || ' % of the events were lost; apart from that: ' ELSE '' END
         || CASE WHEN r.names_ways AND b.is_asynchronous
         THEN 'io_uring or libaio: their transfers are no read or write calls; ' ELSE '' END
         || CASE WHEN r.names_ways AND b.is_mapped THEN 'mapped files; ' ELSE '' END
         || replace(replace(r.words, '{above}', CAST(coalesce(b.above_operations, 0) AS VARCHAR)), '{here}',
                    CAST(b.operations AS VARCHAR)) AS explanation
FROM layer_bytes AS b
  JOIN fitting AS f ON b.direction = f.fit_direction AND b.step = f.fit_step
  JOIN byte_rules AS r ON f.rule = r.number;

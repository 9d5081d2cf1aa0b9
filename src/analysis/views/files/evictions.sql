-- Pages that left the page cache, why, and in whose context (cache_delete), by file. Of what was read ahead, read_ahead says
-- how much nobody has read: where memory was short, that went with the rest. What others drop, as kswapd does, is told of files
-- that another event of a traced task has named, as cache_add or a system call: all of them are recorded by default.
--   file, path   key of the file, and its last name
--   reason       eviction_reasons says what each means
--   pid, comm    the process that dropped them: of 'reclaim' one that needed memory, of 'kswapd' the kernel's thread; NULL:
--                not in the trace
--   bytes        that were dropped
CREATE VIEW evictions AS
SELECT d.file AS file, n.path AS path, d.reason AS reason, d.pid AS pid, p.comm AS comm,
       total(bytes_of_pages(d.pages)) AS bytes
FROM cache_delete AS d
  LEFT JOIN file_names AS n ON d.file = n.file
  LEFT JOIN programs AS p ON d.pid = p.program_pid
GROUP BY d.file, n.path, d.reason, d.pid, p.comm;

CREATE TABLE eviction_reasons (reason VARCHAR, meaning VARCHAR);
INSERT INTO eviction_reasons VALUES
  ('reclaim', 'the process had to free memory before it was given some'),
  ('kswapd', 'memory was short, and the kernel freed some ahead of need'),
  ('truncated', 'the file became shorter, or got a hole'),
  ('deleted', 'the file was deleted'),
  ('asked', 'a call asked for it: fadvise, drop_caches, ...'),
  ('direct', 'direct I/O overwrote them'),
  ('released', 'the file system was unmounted, or the device closed'),
  ('other', 'not known, or the recording is of a time when this was not told');

-- Pages that the kernel dropped since memory was short, and that were read again: cache that is too small for what is in use
-- (thrashing). Made of cache_delete and cache_add, so that every kernel has it, of what happened while the trace was recorded;
-- the event cache_refault also tells of pages that were dropped before. Pages are known by where their folio begins: one that
-- comes back as part of a folio that begins elsewhere is not counted.
--   file, path       key of the file, and its last name
--   evicted_bytes    that were dropped since memory was short
--   refault_bytes    of them, read again
--   shortest_ns      the shortest time that one of them was out of memory; NULL: none was read again
CREATE VIEW refaults AS
WITH
  moves AS (
    SELECT file, first_page, ts_ns, pages,
           CASE WHEN reason IN ('reclaim', 'kswapd') THEN 'evicted' ELSE 'dropped' END AS move
    FROM cache_delete
    UNION ALL
    SELECT file, first_page, ts_ns, pages, 'added' AS move FROM cache_add
  ),
  steps AS (
    SELECT file, move, pages, ts_ns,
           lag(move) OVER (PARTITION BY file, first_page ORDER BY ts_ns) AS last_move,
           lag(pages) OVER (PARTITION BY file, first_page ORDER BY ts_ns) AS last_pages,
           lag(ts_ns) OVER (PARTITION BY file, first_page ORDER BY ts_ns) AS last_ns
    FROM moves
  ),
  sums AS (
    SELECT file, total(CASE move WHEN 'evicted' THEN bytes_of_pages(pages) ELSE 0 END) AS evicted_bytes,
           total(CASE WHEN move = 'added' AND last_move = 'evicted' THEN bytes_of_pages(least(pages, last_pages))
                      ELSE 0 END) AS refault_bytes,
           min(CASE WHEN move = 'added' AND last_move = 'evicted' THEN minus(ts_ns, last_ns) END) AS shortest_ns
    FROM steps
    GROUP BY file
  )
SELECT s.file AS file, n.path AS path, s.evicted_bytes AS evicted_bytes, s.refault_bytes AS refault_bytes,
       s.shortest_ns AS shortest_ns
FROM sums AS s LEFT JOIN file_names AS n ON s.file = n.file
WHERE s.evicted_bytes > 0;

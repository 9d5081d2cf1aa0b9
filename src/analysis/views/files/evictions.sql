-- Pages that left the page cache (cache_delete): one row per file, reason and process. read_ahead
-- shows how much of the read-ahead was never used; memory pressure evicts that too. Evictions by
-- untraced tasks, such as kswapd, are known for files in another event of a traced task, such as
-- cache_add or a system call. All of these are recorded by default.
--   file, path   key of the file, and its last name
--   reason       eviction_reasons has the meanings
--   pid, comm    the process that dropped them: for 'reclaim' one that needed memory, for 'kswapd' the kernel
--                thread; NULL: not in the trace
--   bytes        bytes dropped
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
  ('kernel_thread', 'another kernel thread dropped them: it needed memory, or keeps memory free, as DAMON does'),
  ('truncated', 'the file became shorter, or got a hole'),
  ('deleted', 'the file was deleted'),
  ('asked', 'a call asked for it: fadvise, drop_caches, ...'),
  ('direct', 'direct I/O overwrote them'),
  ('released', 'the file system was unmounted, or the device closed'),
  ('other', 'unknown, or the trace is older than this field');

-- Pages dropped for lack of memory and read again: one row per file. Many such bytes mean that the
-- cache is too small for the working set (thrashing). Computed from cache_delete and cache_add of
-- this recording, so every kernel has it; the event cache_refault also covers pages dropped
-- earlier. A page is identified by the begin of its folio: one that returns in a folio with another
-- begin does not count.
--   file, path       key of the file, and its last name
--   evicted_bytes    bytes dropped for lack of memory
--   refault_bytes    part of these that was read again
--   shortest_ns      the shortest time that such a page was out of memory; NULL: none was read again
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

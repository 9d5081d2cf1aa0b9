-- What went through the page cache: one row per file with an event of the layer cache.
--   file, path        key of the file, and its last name
--   hit_bytes         bytes of pages that reads found in the cache
--   added_bytes       bytes of pages brought into it
--   hit_share         hit_bytes by both; NULL: neither
--   dirtied_bytes     bytes of pages that became dirty; a page counts each time
--   evicted_bytes     bytes dropped for lack of memory (reasons reclaim and kswapd)
--   dropped_bytes     bytes dropped for other reasons: deleted, truncated, asked for
--   dirtied_per_added   dirtied_bytes by added_bytes: 2 means that each page became dirty twice; NULL:
--                     none were added
--   returned_bytes    bytes dropped for any reason, and added again
--   stay_mean_ns, stay_max_ns   how long pages stayed that were added and dropped in the recording; NULL: none
CREATE VIEW cache_churn AS
WITH
  moves AS (
    SELECT file, first_page, pages, ts_ns, 'add' AS move FROM cache_add
    UNION ALL SELECT file, first_page, pages, ts_ns, 'drop' AS move FROM cache_delete
  ),
  steps AS (
    SELECT file, move, pages, ts_ns, lag(move) OVER places AS last_move, lag(pages) OVER places AS last_pages, lag(ts_ns) OVER places AS last_ns
    FROM moves
    WINDOW places AS (PARTITION BY file, first_page ORDER BY ts_ns)
  ),
  stays AS (
    SELECT file, total(CASE WHEN move = 'add' AND last_move = 'drop' THEN bytes_of_pages(least(pages, last_pages)) END) AS returned_bytes,
           mean(CASE WHEN move = 'drop' AND last_move = 'add' THEN minus(ts_ns, last_ns) END) AS stay_mean_ns,
           max(CASE WHEN move = 'drop' AND last_move = 'add' THEN minus(ts_ns, last_ns) END) AS stay_max_ns
    FROM steps
    GROUP BY file
  ),
  flows AS (
    SELECT file, bytes_of_pages(pages) AS bytes, 'hit' AS flow FROM cache_hit
    UNION ALL SELECT file, bytes_of_pages(pages) AS bytes, 'add' AS flow FROM cache_add
    UNION ALL SELECT file, bytes_of_pages(pages) AS bytes, 'dirty' AS flow FROM cache_dirty
    UNION ALL SELECT file, bytes_of_pages(pages) AS bytes, CASE WHEN reason IN ('reclaim', 'kswapd') THEN 'evict' ELSE 'drop' END AS flow FROM cache_delete
  ),
  sums AS (
    SELECT file, coalesce(total(CASE flow WHEN 'hit' THEN bytes END), 0) AS hit_bytes, coalesce(total(CASE flow WHEN 'add' THEN bytes END), 0) AS added_bytes,
           coalesce(total(CASE flow WHEN 'dirty' THEN bytes END), 0) AS dirtied_bytes,
           coalesce(total(CASE flow WHEN 'evict' THEN bytes END), 0) AS evicted_bytes, coalesce(total(CASE flow WHEN 'drop' THEN bytes END), 0) AS dropped_bytes
    FROM flows
    GROUP BY file
  )
SELECT s.file AS file, n.path AS path, s.hit_bytes AS hit_bytes, s.added_bytes AS added_bytes,
       s.hit_bytes / nullif(CAST(s.hit_bytes AS HUGEINT) + s.added_bytes, 0) AS hit_share, s.dirtied_bytes AS dirtied_bytes,
       s.evicted_bytes AS evicted_bytes, s.dropped_bytes AS dropped_bytes, s.dirtied_bytes / nullif(s.added_bytes, 0) AS dirtied_per_added,
       coalesce(t.returned_bytes, 0) AS returned_bytes, t.stay_mean_ns AS stay_mean_ns, t.stay_max_ns AS stay_max_ns
FROM sums AS s LEFT JOIN stays AS t ON s.file = t.file LEFT JOIN file_names AS n ON s.file = n.file;

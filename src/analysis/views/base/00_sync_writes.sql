-- Write-back that sync calls waited for: one row per pair of a call and a link. The bytes of the
-- call's file, or of all files, were in flight during the call and were written back by others.
--   columns as in all_links, and
--   op_id       the call
-- Any number of links can match a call and the reverse, but most calls on a file follow one
-- another. So each link looks up the first and the last call that can match, by their order,
-- instead of being compared with all calls.
CREATE VIEW sync_writes AS
WITH
  -- One row per number and file: in a forged trace, thousands of calls may share a number.
  syncs AS (
    SELECT op_id, CASE WHEN is_sync_of_all(class) THEN NULL ELSE file END AS of_file, min(ts_ns) AS ts_ns, max(plus(ts_ns, duration_ns)) AS until_ns
    FROM events
    WHERE op_id <> 0 AND duration_ns IS NOT NULL AND is_asked(layer) AND is_sync(class)
    GROUP BY op_id, CASE WHEN is_sync_of_all(class) THEN NULL ELSE file END
  ),
  -- 0 stands for all files. reached_ns: the latest end of the calls up to this one.
  placed AS (
    SELECT op_id, coalesce(of_file, 0) AS of_file, ts_ns, until_ns,
           row_number() OVER (PARTITION BY coalesce(of_file, 0) ORDER BY ts_ns, op_id) AS place,
           max(until_ns) OVER (PARTITION BY coalesce(of_file, 0) ORDER BY ts_ns, op_id ROWS UNBOUNDED PRECEDING) AS reached_ns
    FROM syncs
    WHERE of_file IS NULL OR of_file <> 0
  ),
  firsts AS (SELECT of_file, reached_ns, min(place) AS place FROM placed GROUP BY of_file, reached_ns),
  lasts AS (SELECT of_file, ts_ns, max(place) AS place FROM placed GROUP BY of_file, ts_ns),
  written AS (
    SELECT file AS of_file, * FROM all_links
    WHERE direction = 'write' AND stored_ns IS NOT NULL AND completed_ns IS NOT NULL AND file <> 0
    UNION ALL
    SELECT 0 AS of_file, * FROM all_links
    WHERE direction = 'write' AND stored_ns IS NOT NULL AND completed_ns IS NOT NULL AND 0 IN (SELECT of_file FROM placed)
  ),
  from_first AS (
    SELECT w.*, f.place AS first_place FROM written AS w ASOF JOIN firsts AS f ON w.of_file = f.of_file AND w.ts_ns < f.reached_ns
  ),
  to_last AS (
    SELECT w.*, l.place AS last_place FROM from_first AS w ASOF JOIN lasts AS l ON w.of_file = l.of_file AND w.completed_ns > l.ts_ns
  ),
  candidates AS (SELECT *, unnest(range(first_place, last_place + 1)) AS place FROM to_last WHERE first_place <= last_place)
SELECT s.op_id AS op_id, l.ts_ns AS ts_ns, l.inserted_ns AS inserted_ns, l.issued_ns AS issued_ns, l.completed_ns AS completed_ns,
       l.device AS device, l.direction AS direction, l.cause AS cause, l.bytes AS bytes, l.by_op AS by_op, l.pid AS pid, l.file AS file
FROM candidates AS l JOIN placed AS s ON l.of_file = s.of_file AND l.place = s.place
WHERE l.completed_ns > s.ts_ns AND l.ts_ns < s.until_ns;

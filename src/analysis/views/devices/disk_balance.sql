-- What each disk counted by itself, compared with its requests in the trace: one row per disk and
-- direction with I/O. It covers the whole trace, and disks that complete requests: a mapped disk
-- hands bios on to others, which have rows.
--   device, device_name   the whole disk
--   recorded    'all': all requests; 'followed': those for recorded tasks and files; 'none'
--   direction   'read', 'write' (also of zeroes), 'discard', 'flush'
--   unit        of the following numbers: 'bytes'; of 'flush', 'requests'
--   counted     growth of the disk's own counter from the begin to the end
--   in_trace    completed meanwhile according to block_complete; NULL: requests were not recorded
--   absent      counted, and not in the trace
--   allowed     how much may be absent where all is recorded: the requests in flight at the begin and the
--               lost events, each as large as a request of the disk can be
--   surplus     in the trace, and not counted: a defect
--   is_defect   1: surplus, or more is absent than allowed
-- A request that completed within a millisecond of reading a counter is neither absent nor surplus.
CREATE VIEW disk_balance AS
WITH
  counted AS (
    SELECT c.*, d.direction AS direction,
           CASE d.direction WHEN 'read' THEN c.read_bytes WHEN 'write' THEN c.written_bytes
             WHEN 'discard' THEN c.discarded_bytes ELSE c.flushes END AS counted,
           CASE d.direction WHEN 'flush' THEN 1 ELSE c.request_max_bytes END AS request_max
    FROM disk_counters AS c
      CROSS JOIN (SELECT 'read' AS direction UNION ALL SELECT 'write' UNION ALL SELECT 'discard' UNION ALL SELECT 'flush') AS d
  ),
  completed AS (
    SELECT device, plus(ts_ns, duration_ns) AS ended_ns,
           CASE WHEN operation IN ('read', 'discard', 'flush') THEN operation ELSE 'write' END AS direction,
           CASE operation WHEN 'flush' THEN 1 ELSE bytes END AS amount
    FROM (SELECT device, ts_ns, duration_ns, bytes, choice_text('block', flags) AS operation FROM block_complete) AS r
    WHERE operation NOT IN ('driver_in', 'driver_out')
  ),
  times AS (
    SELECT device, begin_ns, end_ns, minus(begin_ns, 1000000) AS about_begin_ns, plus(begin_ns, 1000000) AS after_begin_ns,
           minus(end_ns, 1000000) AS before_end_ns, plus(end_ns, 1000000) AS about_end_ns
    FROM disk_counters
  ),
  moved AS (
    SELECT r.device AS device, r.direction AS direction,
           total(CASE WHEN r.ended_ns >= t.begin_ns AND r.ended_ns <= t.end_ns THEN r.amount ELSE 0 END) AS moved,
           total(CASE WHEN r.ended_ns > t.after_begin_ns AND r.ended_ns < t.before_end_ns THEN r.amount ELSE 0 END) AS at_least,
           total(CASE WHEN r.ended_ns >= t.about_begin_ns AND r.ended_ns <= t.about_end_ns THEN r.amount ELSE 0 END) AS at_most
    FROM completed AS r JOIN times AS t ON r.device = t.device
    GROUP BY r.device, r.direction
  ),
  lost AS (
    SELECT CAST(coalesce(total(events), 0) AS HUGEINT) AS events
    FROM losses
    WHERE source <> 'preload' AND severity IN ('loss', 'gap') AND layer IN (layer_at('devices'), '0')
  ),
  compared AS (
    SELECT c.*, CASE WHEN c.recorded <> 'none' THEN coalesce(m.moved, 0) END AS in_trace,
           CASE WHEN c.recorded <> 'none' THEN CAST(least(minus(c.counted, coalesce(m.at_most, 0)), 9223372036854775807) AS BIGINT) END AS absent,
           CASE WHEN c.recorded <> 'none' THEN CAST(least(minus(coalesce(m.at_least, 0), c.counted), 9223372036854775807) AS BIGINT) END AS surplus,
           CASE WHEN c.recorded = 'all' THEN CAST(least((CAST(c.in_flight AS HUGEINT) + l.events) * c.request_max, 9223372036854775807) AS BIGINT) END AS allowed
    FROM counted AS c
      CROSS JOIN lost AS l
      LEFT JOIN moved AS m ON c.device = m.device AND c.direction = m.direction
  )
SELECT device, name AS device_name, recorded, direction, CASE direction WHEN 'flush' THEN 'requests' ELSE 'bytes' END AS unit, counted, in_trace, absent, allowed, surplus,
       CASE WHEN coalesce(surplus, 0) > 0 OR coalesce(absent, 0) > coalesce(allowed, absent) THEN 1 ELSE 0 END AS is_defect
FROM compared
WHERE counted > 0 OR in_trace > 0;

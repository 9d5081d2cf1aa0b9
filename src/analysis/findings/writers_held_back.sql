-- id: F12
-- title: writers held back
-- shown: waits
-- severity: warning
-- needs: sched
-- limit: share = 0.05; of the busiest time, the part that they must be held back
-- limit: longest_ns = 100000000; one such wait is a finding whatever the share
-- rows: waits.throttle
-- sentence: The kernel held {subject} back {waits} times because {limited}: {took_ns}, {longest_ns} at most.[ {possible}]
-- advice: {remedy}
WITH
  held AS (
    SELECT w.pid AS pid, w.ts_ns AS ts_ns, w.duration_ns AS duration_ns, w.op_id AS op_id,
           CASE WHEN coalesce(contains(w.stack, 'balance_dirty_pages'), false) THEN 'dirty'
                WHEN coalesce(contains(w.stack, 'mem_cgroup_handle_over_high'), false) THEN 'memory'
                WHEN coalesce(contains(w.stack, 'blkcg_maybe_throttle'), false) THEN 'cgroup'
                ELSE 'queue' END AS kind
    FROM waits AS w WHERE w.reason = 'throttle'
  ),
  -- Whether each file system that a call wrote to while it was held back has a strict limit.
  written AS (
    SELECT h.op_id AS of_op, bool_and(d.device IS NOT NULL) AS is_strict, min(d.max_percent) AS max_percent
    FROM held AS h JOIN all_events AS e ON h.op_id = e.op_id LEFT JOIN files AS f ON e.file = f.file LEFT JOIN dirty_limits AS d ON f.device = d.device
    WHERE h.kind = 'dirty' AND h.op_id <> 0 AND writes(e.class)
    GROUP BY h.op_id
  ),
  limits AS (
    SELECT * FROM (VALUES
      ('memory', 'its control group used more memory than memory.high', NULL, 'Raise memory.high of its control group, or use less memory: the page cache counts.'),
      ('cgroup', 'the I/O of its control group is limited', NULL, 'Raise the control group''s io.max, io.latency or io.cost, or do less I/O.'),
      ('queue', 'the queue of the device was limited', 'Possible limits: write-back throttling (/sys/block/DISK/queue/wbt_lat_usec), or the control group''s io.latency or io.cost.',
       'Compare these limits, or write less at once.'),
      ('strict', 'too much was not yet written, by the limit of its file system', 'This limit is strict: MAX % of vm.dirty_ratio, as max_ratio in /sys/class/bdi says.',
       'Raise that limit, start write-back earlier (sync_file_range), or write less.'),
      ('dirty', 'too much was not yet written', 'Possible limits: of the machine (vm.dirty_ratio), of the device (max_ratio in /sys/class/bdi), of the control group (its memory).',
       'Start write-back earlier (sync_file_range, a lower vm.dirty_background_bytes), or write less.')) AS v(kind, limited, possible, remedy)
  ),
  judged AS (
    SELECT h.*, CASE WHEN h.kind = 'dirty' AND coalesce(w.is_strict, false) THEN 'strict' ELSE h.kind END AS limit_kind, w.max_percent AS max_percent
    FROM held AS h LEFT JOIN written AS w ON h.op_id = w.of_op
  )
SELECT coalesce(p.comm, 'pid ' || w.pid) AS subject, any_value(l.limited) AS limited,
       replace(any_value(l.possible), 'MAX', coalesce(CAST(min(w.max_percent) AS VARCHAR), '?')) AS possible, any_value(l.remedy) AS remedy,
       count(*) AS waits, union_length(w.ts_ns, plus(w.ts_ns, w.duration_ns)) AS took_ns,
       max(w.duration_ns) AS longest_ns, busiest_share(w.ts_ns, plus(w.ts_ns, w.duration_ns), b.window_ns) AS busiest_share,
       union_length(w.ts_ns, plus(w.ts_ns, w.duration_ns)) AS could_save_ns, arg_max(w.op_id, w.duration_ns) AS op_id
FROM judged AS w CROSS JOIN busy_window AS b JOIN limits AS l ON w.limit_kind = l.kind LEFT JOIN programs AS p ON w.pid = p.program_pid
GROUP BY subject, w.limit_kind
HAVING busiest_share(w.ts_ns, plus(w.ts_ns, w.duration_ns), b.window_ns) >= $share OR max(w.duration_ns) >= $longest_ns

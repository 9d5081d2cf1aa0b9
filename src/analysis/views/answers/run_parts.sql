-- How the run divides: one row per part; the parts do not overlap and add up to the run.
--   step    the order of the parts
--   part    'calls on files': at least one was in progress; 'waiting for own processes': none was, but a call on
--           a pipe, socket, terminal or the like, while another recorded process worked outside of calls; 'waiting
--           for others': the same, while no recorded process worked; of programs with threads or children, 'waiting
--           for others, or computing': another thread or the parent may have worked meanwhile; 'calls on pseudo files': none was but a call on a
--           file of pseudo_files, as /dev/zero; 'outside I/O': none of them
--   ns      its time
--   share   its share of the run; NULL: the run has no length

-- When recorded processes worked outside of calls: one row per span without a call of the process and
-- without a child, for which it may wait. Spans of one process do not overlap.
--   from_ns, until_ns   begin and end, within the run
CREATE VIEW work_spans AS
WITH
  calls AS (
    SELECT pid, ts_ns AS from_ns, plus(ts_ns, duration_ns) AS until_ns
    FROM all_events
    WHERE duration_ns IS NOT NULL AND is_asked(layer)
  ),
  ends AS (SELECT pid AS ended_pid, max(ts_ns) AS ended_ns FROM all_events WHERE event = 'process_exit' GROUP BY pid),
  lives AS (
    SELECT c.pid AS pid, least(min(c.from_ns), coalesce(any_value(p.since_ns), min(c.from_ns))) AS born_ns,
           coalesce(any_value(e.ended_ns), max(c.until_ns)) AS died_ns, any_value(p.parent_pid) AS parent_pid
    FROM calls AS c
      LEFT JOIN (SELECT pid AS program_pid, min(since_ns) AS since_ns, arg_min(parent_pid, since_ns) AS parent_pid FROM processes GROUP BY pid) AS p
        ON c.pid = p.program_pid
      LEFT JOIN ends AS e ON c.pid = e.ended_pid
    GROUP BY c.pid
  ),
  -- Begin and end are spans without a length.
  busy AS (
    SELECT pid, from_ns, until_ns FROM calls
    UNION ALL SELECT parent_pid, born_ns, died_ns FROM lives WHERE parent_pid IN (SELECT pid FROM lives)
    UNION ALL SELECT pid, born_ns, born_ns FROM lives
    UNION ALL SELECT pid, died_ns, died_ns FROM lives
  ),
  gaps AS (SELECT unnest(span_gaps(from_ns, until_ns), recursive := true) FROM busy GROUP BY pid)
SELECT greatest(g.from_ns, r.begin_ns) AS from_ns, least(g.until_ns, r.end_ns) AS until_ns
FROM gaps AS g CROSS JOIN run AS r
WHERE greatest(g.from_ns, r.begin_ns) < least(g.until_ns, r.end_ns);

CREATE VIEW run_parts AS
WITH
  calls AS (
    SELECT from_ns, until_ns, CASE WHEN on_files THEN 1 WHEN on_pseudo_files THEN 4 ELSE 2 END AS what FROM timed_spans WHERE is_asked(layer)
  ),
  spans AS (
    SELECT what, unnest(merged_spans(from_ns, until_ns), recursive := true) FROM calls GROUP BY what
    UNION ALL
    SELECT 8, from_ns, until_ns FROM work_spans
  ),
  summed AS (SELECT unnest(overlap_times(from_ns, until_ns, CAST(what AS UBIGINT)), recursive := true) FROM spans),
  times AS (
    SELECT CASE WHEN what & 1 <> 0 THEN 1
                WHEN what & 2 <> 0 AND what & 8 <> 0 THEN 2
                WHEN what & 2 <> 0 THEN 3
                WHEN what & 4 <> 0 THEN 4 END AS step, total(ns) AS ns
    FROM summed
    GROUP BY ALL
  ),
  names AS (
    SELECT unnest([1, 2, 3, 4, 5]) AS step,
           unnest(['calls on files', 'waiting for own processes',
                   CASE WHEN EXISTS (SELECT ts_ns FROM process_fork) THEN 'waiting for others, or computing' ELSE 'waiting for others' END,
                   'calls on pseudo files', 'outside I/O']) AS part
  ),
  parts AS (
    SELECT n.step AS step, n.part AS part,
           CAST(CASE n.step WHEN 5 THEN minus(r.duration_ns, (SELECT coalesce(total(ns), 0) FROM times WHERE step IS NOT NULL)) ELSE coalesce(t.ns, 0) END AS UBIGINT) AS ns
    FROM names AS n CROSS JOIN run AS r LEFT JOIN times AS t ON n.step = t.step
  )
SELECT p.step AS step, p.part AS part, p.ns AS ns, p.ns / nullif(r.duration_ns, 0) AS share
FROM parts AS p CROSS JOIN run AS r;

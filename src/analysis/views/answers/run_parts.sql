-- How the run divides: one row per part; the parts do not overlap and add up to the run.
--   step    the order of the parts
--   part    'calls on files': at least one was in progress; 'waiting for others': none was, but a call on a
--           pipe, socket, terminal or the like; 'calls on pseudo files': none was but a call on a file of
--           pseudo_files, as /dev/zero; 'outside I/O': none of them
--   ns      its time
--   share   its share of the run; NULL: the run has no length
CREATE VIEW run_parts AS
WITH
  times AS (
    SELECT union_length(CASE WHEN on_files THEN from_ns END, until_ns) AS files_ns,
           union_length(CASE WHEN NOT on_pseudo_files THEN from_ns END, until_ns) AS own_ns,
           union_length(from_ns, until_ns) AS calls_ns
    FROM timed_spans
    WHERE is_asked(layer)
  ),
  parts AS (
    SELECT 1 AS step, 'calls on files' AS part, files_ns AS ns FROM times
    UNION ALL SELECT 2, 'waiting for others', own_ns - files_ns FROM times
    UNION ALL SELECT 3, 'calls on pseudo files', calls_ns - own_ns FROM times
    UNION ALL SELECT 4, 'outside I/O', minus(r.duration_ns, t.calls_ns) FROM times AS t CROSS JOIN run AS r
  )
SELECT p.step AS step, p.part AS part, p.ns AS ns, p.ns / nullif(r.duration_ns, 0) AS share
FROM parts AS p CROSS JOIN run AS r;

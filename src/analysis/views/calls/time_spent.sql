-- What the time of the run went into: the calls of the layer call_layer, asynchronous operations, and the requests of
-- devices.
--   layer        call_layer's, 'async' or 'block'
--   operation    what was done, as in layers
--   on_files     false: on pipes, sockets, terminals, /proc and the like, where a wait is one for somebody else; also
--                of calls that did not end, of which the file is not known
--   operations, bytes, errors, total_ns   as in layers
--   busy_ns      time in which at least one of them was going on; of a single thread, total_ns
--   share        busy_ns by the time of the run, of which it is never more than the whole
--   p50_ns, p99_ns, max_ns   durations, exact

-- The spans of those layers, cut off where the run begins and ends.
--   layer, operation, bytes, error   as in events
--   on_files           as in time_spent
--   from_ns, until_ns  when it began and ended, within the run
--   duration_ns        how long it took, also outside the run
CREATE VIEW timed_spans AS
SELECT e.layer AS layer, e.operation AS operation, n.file IS NULL AND NOT waits_for_others(e.class) AND NOT (e.file = 0 AND is_unfinished(e.error)) AS on_files,
       e.bytes AS bytes, e.error AS error,
       greatest(e.ts_ns, r.begin_ns) AS from_ns, e.duration_ns AS duration_ns,
       least(plus(e.ts_ns, e.duration_ns), r.end_ns) AS until_ns
FROM events AS e
  CROSS JOIN run AS r
  LEFT JOIN files_without_device AS n ON e.file = n.file
WHERE e.duration_ns IS NOT NULL AND e.layer IN (SELECT asked_layer FROM asked_layers UNION ALL SELECT layer_at('devices'));

CREATE VIEW time_spent AS
WITH
  sums AS (
    SELECT layer, operation, on_files, count(*) AS operations, total(bytes) AS bytes,
           total(CASE WHEN is_error(error) THEN 1 ELSE 0 END) AS errors,
           total(duration_ns) AS total_ns, union_length(from_ns, until_ns) AS busy_ns,
           p50(duration_ns) AS p50_ns, p99(duration_ns) AS p99_ns, max(duration_ns) AS max_ns
    FROM timed_spans
    GROUP BY layer, operation, on_files
  )
SELECT s.*, s.busy_ns / nullif(r.duration_ns, 0) AS share
FROM sums AS s CROSS JOIN run AS r;

-- The time in which at least one operation of the layer was going on, of whatever kind.
--   layer       as in time_spent
--   busy_ns     that time
--   share       busy_ns by the time of the run
CREATE VIEW layer_times AS
WITH sums AS (SELECT layer, union_length(from_ns, until_ns) AS busy_ns FROM timed_spans GROUP BY layer)
SELECT s.*, s.busy_ns / nullif(r.duration_ns, 0) AS share
FROM sums AS s CROSS JOIN run AS r;

-- Where the time of the run went: one row per layer, operation and kind of file. It covers calls of
-- the layer call_layer, asynchronous operations, requests of devices, and faults on mapped files
-- (fault_file).
--   layer        call_layer's, 'async', 'block' or 'fault'
--   operation    the operation, as in layers
--   on_files     false: on pipes, sockets, terminals, /proc and the like, where another program ends a wait;
--                also for unfinished calls without a known file or path
--   operations, bytes, errors, total_ns   as in layers
--   busy_ns      time with at least one of them in progress; for a single thread, total_ns
--   share        busy_ns by the time of the run; at most 1
--   p50_ns, p99_ns, max_ns   durations, exact

-- One row per span of those layers, clipped to the run.
--   layer, operation, bytes, error   as in events
--   on_files           as in time_spent
--   on_pseudo_files    true: on a file of pseudo_files
--   from_ns, until_ns  begin and end, within the run
--   duration_ns        full duration, including time outside the run
CREATE VIEW timed_spans AS
SELECT e.layer AS layer, e.operation AS operation, n.file IS NULL AND NOT waits_for_others(e.class) AND NOT (e.file = 0 AND e.path = 0 AND is_unfinished(e.error)) AS on_files,
       s.file IS NOT NULL AND NOT waits_for_others(e.class) AS on_pseudo_files, e.bytes AS bytes, e.error AS error,
       greatest(e.ts_ns, r.begin_ns) AS from_ns, e.duration_ns AS duration_ns,
       least(plus(e.ts_ns, e.duration_ns), r.end_ns) AS until_ns
FROM events AS e
  CROSS JOIN run AS r
  LEFT JOIN files_without_device AS n ON e.file = n.file
  LEFT JOIN pseudo_files AS s ON e.file = s.file
WHERE e.duration_ns IS NOT NULL AND (is_asked(e.layer) OR e.layer IN (layer_at('devices'), layer_of('fault_file')));

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

-- One row per layer: the time with at least one operation of the layer in progress.
--   layer       as in time_spent
--   busy_ns     that time
--   share       busy_ns by the time of the run
--   file_busy_ns, file_share   the same for operations with on_files alone, without polls, pipes and sockets
CREATE VIEW layer_times AS
WITH
  sums AS (
    SELECT layer, union_length(from_ns, until_ns) AS busy_ns,
           coalesce(union_length(from_ns, until_ns) FILTER (on_files), 0) AS file_busy_ns
    FROM timed_spans
    GROUP BY layer
  )
SELECT s.*, s.busy_ns / nullif(r.duration_ns, 0) AS share, s.file_busy_ns / nullif(r.duration_ns, 0) AS file_share
FROM sums AS s CROSS JOIN run AS r;

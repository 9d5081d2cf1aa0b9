-- The analysed time: the recording, or the selected part of it. One row.
--   begin_ns, end_ns   CLOCK_MONOTONIC; for a recording without an end, end_ns is its last event
--   duration_ns        the time between them
CREATE VIEW run AS
WITH
  stored AS (
    SELECT max(CASE "key" WHEN 'begin_ns' THEN CAST(value AS UBIGINT) END) AS first_ns,
           max(CASE "key" WHEN 'end_ns' THEN CAST(value AS UBIGINT) END) AS last_ns
    FROM manifest
  ),
  seen AS (SELECT coalesce(max(last_ns), 0) AS last_seen_ns FROM tables WHERE row_count > 0 AND layer IN (SELECT layer FROM layer_list)),
  times AS (
    SELECT greatest(first_ns, from_ns) AS begin_ns,
           least(CASE last_ns WHEN 0 THEN greatest(first_ns, last_seen_ns) ELSE last_ns END, to_ns) AS end_ns
    FROM stored CROSS JOIN seen CROSS JOIN selection
  )
SELECT begin_ns, greatest(begin_ns, end_ns) AS end_ns, greatest(begin_ns, end_ns) - begin_ns AS duration_ns
FROM times;

-- Missing events and other problems with the data, located in time: one row per time range, source,
-- layer, counter and event.
--   from_ns, to_ns   they happened at or after the first time and before the second (CLOCK_MONOTONIC)
--   source, layer    the source that lost them, and their layer; '0': unknown
--   counter          the counter, which gives the reason; see stats.def
--   severity         'loss': events are missing; 'gap': events may be missing; 'error': events are there, with
--                    less information; 'info'
--   events           number of events; for a gap, of occasions
--   event            the event; '0': unknown
--   doc              meaning of the counter
CREATE VIEW losses AS
SELECT l.from_ns AS from_ns, l.to_ns AS to_ns, l.source AS source, l.layer AS layer, l.counter AS counter,
       coalesce(c.severity, 'loss') AS severity, l.events AS events, coalesce(l.event, '0') AS event,
       coalesce(c.doc, '') AS doc
FROM (SELECT from_ns, to_ns, source, layer, counter, events, event FROM losses()
      UNION ALL
      -- What the reader finds damaged or missing in the trace itself.
      SELECT from_ns, to_ns, source, '0' AS layer, counter, events, '0' AS event FROM found_damage()) AS l
  LEFT JOIN counters AS c ON l.counter = c.counter;

-- The same by counter and event: one row each, without counters of 0. Combines the recorder's final
-- counts with the losses located in time; a trace without an end has only the latter.
--   source, counter, severity, event, doc   as above
--   events                                  for a named event, the located ones; else the larger of both counts
--   from_ns, to_ns                          range of all rows of losses with this counter and event; NULL: not
--                                           located
CREATE VIEW loss_totals AS
WITH
  located AS (
    SELECT counter AS located_counter, event AS located_event, total(events) AS located_events,
           min(from_ns) AS first_ns, max(to_ns) AS last_ns
    FROM losses
    GROUP BY counter, event
  ),
  named AS (
    SELECT located_counter AS named_counter, total(located_events) AS named_events
    FROM located
    WHERE located_event <> '0'
    GROUP BY located_counter
  ),
  totals AS (
    SELECT c.source AS source, c.counter AS counter, c.severity AS severity, l.located_event AS event,
           l.located_events AS events, l.first_ns AS from_ns, l.last_ns AS to_ns, c.doc AS doc
    FROM counters AS c JOIN located AS l ON c.counter = l.located_counter AND l.located_event <> '0'
    UNION ALL
    SELECT c.source AS source, c.counter AS counter, c.severity AS severity, '0' AS event,
           greatest(CAST(least(c.value, 9223372036854775807) AS BIGINT) - coalesce(n.named_events, 0),
                    coalesce(l.located_events, 0)) AS events,
           l.first_ns AS from_ns, l.last_ns AS to_ns, c.doc AS doc
    FROM counters AS c
      LEFT JOIN located AS l ON c.counter = l.located_counter AND l.located_event = '0'
      LEFT JOIN named AS n ON c.counter = n.named_counter
  )
SELECT source, counter, severity, event, events, from_ns, to_ns, doc
FROM totals
WHERE events > 0;

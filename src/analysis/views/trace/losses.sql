-- Events that happened and are not in the trace, located in time, and what else went wrong with the data.
--   from_ns, to_ns   they happened at or after the one and before the other (CLOCK_MONOTONIC)
--   source, layer    where they were lost, and of which layer they were; '0': not known
--   counter          why, as in stats.def
--   severity         'loss': events are missing; 'gap': events may be missing; 'error': events are there but less is known of
--                    them; 'info'
--   events           how many; of a gap, occasions
--   event            which event; '0': not known
--   doc              the counter in a sentence
CREATE VIEW losses AS
SELECT l.from_ns AS from_ns, l.to_ns AS to_ns, l.source AS source, l.layer AS layer, l.counter AS counter,
       coalesce(c.severity, 'loss') AS severity, l.events AS events, coalesce(l.event, '0') AS event,
       coalesce(c.doc, '') AS doc
FROM losses() AS l LEFT JOIN counters AS c ON l.counter = c.counter;

-- The same by counter and event: what the recorder counted at its end, and what is located in time, which a trace
-- without an end has alone. Only counters that are not 0.
--   source, counter, severity, event, doc   as above
--   events                                  of a named event those located; else the larger one of both counts
--   from_ns, to_ns                          of all rows of losses with this counter and event; NULL: not located
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

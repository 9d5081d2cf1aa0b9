-- Events that happened and are not in the trace, located in time, and what else went wrong with the data.
--   from_ns, to_ns   they happened at or after the one and before the other (CLOCK_MONOTONIC)
--   source, layer    where they were lost, and of which layer they were; '0': not known
--   counter          why, as in stats.def
--   severity         'loss': events are missing; 'error': events are there but less is known of them; 'info'
--   events           how many
--   doc              the counter in a sentence
CREATE OR REPLACE VIEW losses AS
SELECT l.from_ns AS from_ns, l.to_ns AS to_ns, l.source AS source, l.layer AS layer, l.counter AS counter,
       coalesce(c.severity, 'loss') AS severity, l.events AS events, coalesce(c.doc, '') AS doc
FROM losses() AS l LEFT JOIN counters AS c ON l.counter = c.counter;

-- The same by counter: what the recorder counted at its end, and what is located in time, which a trace without an
-- end has alone. Only counters that are not 0.
--   source, counter, severity, doc   as above
--   events                           the larger one of both counts
--   from_ns, to_ns                   of all rows of losses with this counter; NULL: not located
CREATE VIEW loss_totals AS
WITH located AS (
  SELECT counter AS located_counter, CAST(sum(events) AS BIGINT) AS located_events,
         min(from_ns) AS first_ns, max(to_ns) AS last_ns
  FROM losses
  GROUP BY counter
)
SELECT c.source AS source, c.counter AS counter, c.severity AS severity,
       CAST(greatest(c.value, coalesce(l.located_events, 0)) AS BIGINT) AS events,
       l.first_ns AS from_ns, l.last_ns AS to_ns, c.doc AS doc
FROM counters AS c LEFT JOIN located AS l ON c.counter = l.located_counter
WHERE c.value > 0 OR l.located_events > 0;

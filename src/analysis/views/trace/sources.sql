-- The sources of events, and their losses: one row per source. A trace without an end has none of
-- these counts.
--   source     'kernel', 'preload'
--   produced   number of events that happened
--   written    number of events in the trace; for `iotrail stat`, in its sums
--   lost       number of missing events; produced = written + lost
CREATE VIEW sources AS
SELECT source, produced, written, lost FROM source_tallies;

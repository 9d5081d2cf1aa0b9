-- Where events came from, and whether all of them are in the trace. A trace without an end has none of these counts.
--   source     'kernel', 'preload'
--   produced   events that arose
--   written    events in the trace; of `iotrail stat`, those in its sums
--   lost       events that are not; produced = written + lost
CREATE VIEW sources AS
SELECT source, produced, written, lost FROM source_tallies;

-- Facts about the trace itself: one row per fact.
--   key     'state', 'command', 'host', 'kernel', 'begin_ns', ...; 'tag.NAME' for a tag
--   value   the fact as text
CREATE VIEW trace_info AS
SELECT "key", value FROM manifest;

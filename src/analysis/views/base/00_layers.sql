-- The layer at which files and processes are counted (call_rank of layer_list). It is the system
-- calls if the trace has any, else the C library, else the virtual file system. One row.
--   seen_layer   its name; NULL: none of these is recorded
CREATE VIEW call_layer AS
SELECT argMin(l.layer, l.call_rank) AS seen_layer
FROM layer_list AS l JOIN tables AS t ON l.layer = t.layer
WHERE l.call_rank > 0 AND t.row_count > 0;

-- One row per layer at which programs request I/O and get its result: call_layer's, and
-- asynchronous operations.
--   asked_layer   its name
CREATE VIEW asked_layers AS
SELECT seen_layer AS asked_layer FROM call_layer WHERE seen_layer IS NOT NULL
UNION ALL
SELECT layer_at('later');

-- FUNCTION is_asked(layer): true for the layers of asked_layers; constants for the planner, so that no
-- other events are read.

-- FUNCTION lacks_spans(layer): true for layers that move bytes without spans: the page cache.

-- FUNCTION layer_of(event): the layer of an event.

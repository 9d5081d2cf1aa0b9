-- All spans, with the track of a time line on which each belongs: one row per row of operations.
--   track         'thread': the spans of a thread lie within one another; 'device', 'async': they overlap
--   track_name    the device; NULL: others
--   device        its number; NULL: others
--   layer, event, op_id, parent_op, pid, tid, ts_ns, duration_ns, bytes, error   as in operations
--   name          the call, or the operation of a device
--   class         as in operations; of a request, its operation
--   file          as in operations
--   path          as in operations
--   depth         of the layer, as in layer_list
CREATE VIEW timeline_spans AS
SELECT CASE WHEN o.layer = layer_at('later') THEN 'async' ELSE 'thread' END AS track, NULL AS track_name, NULL AS device,
       o.layer AS layer, o.event AS event, coalesce(o.call, o.class) AS name, o.class AS class,
       o.op_id AS op_id, o.parent_op AS parent_op, o.pid AS pid,
       o.tid AS tid, o.ts_ns AS ts_ns, o.duration_ns AS duration_ns, o.bytes AS bytes, o.error AS error, o.path AS path, o.file AS file,
       coalesce(l.depth, 0) AS depth
FROM operations AS o LEFT JOIN layer_list AS l ON o.layer = l.layer
WHERE o.layer <> layer_at('devices')
UNION ALL
SELECT 'device', coalesce(d.name, 'device ' || q.device), q.device, layer_at('devices'), 'block_complete',
       q.operation, q.operation, q.op_id, q.parent_op, q.pid, q.tid, q.ts_ns, q.duration_ns, q.bytes, q.error, shown_path_at(q.file, q.ts_ns), q.file, l.depth
FROM (SELECT *, coalesce(nullif(choice_text('block', flags), ''), 'other') AS operation FROM requests) AS q
  LEFT JOIN (SELECT device, min(name) AS name FROM devices GROUP BY device) AS d ON q.device = d.device
  LEFT JOIN layer_list AS l ON l.layer = layer_at('devices');

-- How operations of one layer continued in a layer below: one row per pair of layers and class. One
-- more row is for activity below without an operation above. The rows of a pair add up to the
-- totals of its layers.
--   above, below       the two layers, if the trace has both
--   class              class of the operations above; NULL: the row without an operation above
--   operations         number of operations above; 0 in that row
--   went_on            those that caused any operation below
--   operations_below   number of operations below: system calls in library calls; operations of the virtual
--                      file system and bios in those
CREATE VIEW layer_steps AS
WITH
  present AS (SELECT DISTINCT layer FROM tables WHERE row_count > 0),
  pairs AS (
    SELECT above, below
    FROM (VALUES (layer_at('library'), layer_at('kernel')), (layer_at('kernel'), layer_at('files')),
                 (layer_at('later'), layer_at('files')), (layer_at('kernel'), layer_at('devices')),
                 (layer_at('later'), layer_at('devices'))) AS p(above, below)
    WHERE above IN (SELECT layer FROM present) AND below IN (SELECT layer FROM present)
  ),
  calls AS (
    SELECT layer AS above, class, op_id
    FROM events
    WHERE layer IN (SELECT above FROM pairs) AND duration_ns IS NOT NULL AND op_id <> 0
  ),
  things AS (
    SELECT layer_at('kernel') AS below, coalesce(app_op, 0) AS of_op, count(*) AS things
    FROM app_calls_of_syscalls
    WHERE layer_at('library') IN (SELECT layer FROM present)
    GROUP BY app_op
    UNION ALL
    SELECT layer AS below, op_id AS of_op, count(*) AS things
    FROM events
    WHERE layer = layer_at('files') AND duration_ns IS NOT NULL
    GROUP BY layer, op_id
    UNION ALL
    SELECT layer AS below, op_id AS of_op, count(*) AS things
    FROM events
    WHERE event = 'block_queue'
    GROUP BY layer, op_id
  ),
  of_calls AS (
    SELECT c.above AS above, p.below AS below, c.class AS class, count(*) AS operations, count(t.things) AS went_on,
           coalesce(sum(t.things), 0) AS operations_below
    FROM calls AS c
      JOIN pairs AS p ON c.above = p.above
      LEFT JOIN things AS t ON p.below = t.below AND c.op_id = t.of_op
    GROUP BY c.above, p.below, c.class
  ),
  of_none AS (
    SELECT t.below AS below, sum(t.things) AS things
    FROM things AS t
      LEFT JOIN (SELECT DISTINCT p.below AS below, c.op_id AS op_id FROM calls AS c JOIN pairs AS p ON c.above = p.above) AS c
        ON t.below = c.below AND t.of_op = c.op_id
    WHERE c.op_id IS NULL
    GROUP BY t.below
  )
SELECT above, below, class, operations, went_on, CAST(operations_below AS BIGINT) AS operations_below FROM of_calls
UNION ALL
SELECT p.above AS above, p.below AS below, NULL AS class, 0 AS operations, 0 AS went_on, CAST(n.things AS BIGINT) AS operations_below
FROM of_none AS n JOIN (SELECT below, min_by(above, (SELECT depth FROM layer_list AS l WHERE l.layer = above)) AS above FROM pairs GROUP BY below) AS p
  ON n.below = p.below;

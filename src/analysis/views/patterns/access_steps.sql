-- How each access of a file follows the one before in its stream: one row per row of file_accesses.
-- A stream is what a thread reads, or writes, of one file in one layer. For bios it is what one disk
-- reads, or writes, of one file.
--   columns as in the view all_file_accesses, and
--   stream            the thread; 0: a bio
--   step_bytes        from the begin of the access before to its own, negative: backwards; NULL: the first of its
--                     stream
--   gap_bytes         likewise from the end of the access before
--   kind              'first' of its stream; 'sequential': it begins at the end of the one before; 'repeated':
--                     at its begin; 'reverse': it ends at its begin, or it is one of several equal steps
--                     backwards; 'strided': one of several equal steps forward; else 'random'
CREATE VIEW access_steps AS
WITH
  streams AS (SELECT *, CASE layer WHEN layer_at('devices') THEN 0 ELSE tid END AS stream FROM file_accesses),
  followed AS (
    SELECT *, lag(position) OVER steps AS last_position, lag(plus(position, bytes)) OVER steps AS last_end,
           CAST(position AS HUGEINT) - lag(position) OVER steps AS step
    FROM streams
    WINDOW steps AS (PARTITION BY layer, device, file, is_read, stream ORDER BY ts_ns, op_id, position)
  ),
  compared AS (
    SELECT *, step = lag(step) OVER steps OR step = lead(step) OVER steps AS is_regular
    FROM followed
    WINDOW steps AS (PARTITION BY layer, device, file, is_read, stream ORDER BY ts_ns, op_id, position)
  )
SELECT layer, op_id, pid, tid, ts_ns, until_ns, file, device, is_read, position, bytes, stream,
       CASE WHEN step IS NOT NULL THEN CAST(greatest(least(step, 9223372036854775807), -9223372036854775807) AS BIGINT) END AS step_bytes,
       CASE WHEN step IS NOT NULL
            THEN CAST(greatest(least(CAST(position AS HUGEINT) - last_end, 9223372036854775807), -9223372036854775807) AS BIGINT) END AS gap_bytes,
       CASE WHEN step IS NULL THEN 'first' WHEN position = last_end THEN 'sequential' WHEN step = 0 THEN 'repeated'
            WHEN plus(position, bytes) = last_position THEN 'reverse'
            WHEN is_regular THEN CASE WHEN step < 0 THEN 'reverse' ELSE 'strided' END ELSE 'random' END AS kind
FROM compared;

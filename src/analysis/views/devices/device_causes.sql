-- The causes of device I/O: one row per device, direction, process, call, file and cause.
--   device_name, direction   as in conservation
--   pid           the process that made the call, even if another task queued the bio; 0: unknown
--   comm          its name; NULL: unknown
--   call          its call: a class of events; 'fault': a store to or load from mapped memory; 'other': an
--                 operation that is not in the trace; NULL: none, or unknown
--   path          the file; NULL: none, or unknown
--   cause         as in links
--   is_remainder  1: no process is known for the cause
--   bytes         bytes that the device completed
--   failed_bytes  part of it of failed requests
--   exact_bytes   bytes with an exact cause
--   operations    number of operations that caused them
--   requests      number of bios, or parts of bios
--   delay_ns      for bytes written back: the longest time from the write to the bio; NULL: others
CREATE VIEW device_causes AS
WITH
  calls AS (
    SELECT op_id AS call_op, any_value(class) AS class
    FROM all_events
    WHERE duration_ns IS NOT NULL AND is_asked(layer) AND op_id <> 0
      AND op_id IN (SELECT op_id FROM links)
    GROUP BY op_id
  ),
  sums AS (
    SELECT l.device AS device, l.direction AS direction, l.pid AS pid, n.path AS path, l.cause AS cause,
           l.is_remainder AS is_remainder,
           CASE WHEN l.is_remainder = 1 OR l.cause = 'kernel_thread' THEN NULL WHEN c.class IS NOT NULL THEN c.class
                WHEN l.cause IN ('mapped', 'mapped_read') THEN 'fault' ELSE 'other' END AS call,
           sum(l.bytes) AS bytes, sum(CASE WHEN is_error(l.error) THEN l.bytes ELSE 0 END) AS failed_bytes,
           sum(CASE l.confidence WHEN 'exact' THEN l.bytes ELSE 0 END) AS exact_bytes, count(DISTINCT nullif(l.op_id, 0)) AS operations, count(*) AS requests,
           max(minus(l.ts_ns, l.stored_ns)) AS delay_ns
    FROM links AS l
      LEFT JOIN calls AS c ON l.op_id = c.call_op
      LEFT JOIN file_names AS n ON l.file = n.file
    WHERE l.completed_ns IS NOT NULL
    GROUP BY ALL
  )
SELECT d.name AS device_name, s.direction AS direction, s.pid AS pid, p.comm AS comm, s.call AS call,
       s.path AS path, s.cause AS cause, s.is_remainder AS is_remainder, CAST(s.bytes AS BIGINT) AS bytes,
       CAST(s.failed_bytes AS BIGINT) AS failed_bytes,
       CAST(s.exact_bytes AS BIGINT) AS exact_bytes, s.operations AS operations, s.requests AS requests, s.delay_ns AS delay_ns
FROM sums AS s
  LEFT JOIN devices AS d ON s.device = d.device
  LEFT JOIN programs AS p ON s.pid = p.program_pid;

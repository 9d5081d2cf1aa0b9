-- The system calls that wrote the bytes of stdio streams: one row per library call and system call
-- that carried its bytes. A stream keeps bytes until its buffer is full, or it is flushed or
-- closed.
--   pid, fd, file     the process, the descriptor of the stream, and its file
--   app_op, call      the library call that wrote the bytes (op_id of app_write), and its function; NULL: none
--                     is recorded, as for bytes inherited from a parent
--   syscall_op        the system call that carried them; NULL: none: the bytes were still in the buffer at the
--                     end of the recording or of the process, or were lost with it
--   bytes             bytes of the library call in that system call
--   kept_ns           from the begin of the library call to the begin of the system call
--   confidence        'exact'; 'inferred': the stream wrote more than the calls gave, or earlier, or less than
--                     requested
-- Bytes leave a stream in the order of their arrival, so the sums of both sides match. A stream
-- begins when its descriptor is opened or its process executes another program. The view needs the
-- layers app and syscall, without losses. It treats two streams on one descriptor (fdopen) as one,
-- and bytes that __fpurge discards as written. Streams without a recorded writing call are missing.
CREATE VIEW stdio_writes AS
WITH
  calls AS (
    SELECT pid, fd, file, op_id, call, ts_ns, plus(ts_ns, duration_ns) AS done_ns, result AS bytes
    FROM app_write
    WHERE result > 0 AND fd >= 0 AND NOT is_on_descriptor(call)
  ),
  streams AS (SELECT DISTINCT pid, fd FROM calls),
  begins AS (
    SELECT pid, result AS fd, plus(ts_ns, duration_ns) AS since_ns FROM app_open WHERE result >= 0
    UNION
    SELECT e.pid AS pid, s.fd AS fd, e.ts_ns AS since_ns FROM process_exec AS e JOIN streams AS s ON e.pid = s.pid
  ),
  writes AS (
    SELECT w.pid AS pid, w.fd AS fd, w.file AS file, w.op_id AS op_id, w.ts_ns AS ts_ns, greatest(w.result, 0) AS bytes,
           CASE WHEN w.result < w.bytes_requested THEN 1 ELSE 0 END AS is_short
    FROM syscall_write AS w
      JOIN streams AS s ON w.pid = s.pid AND w.fd = s.fd
      LEFT JOIN app_calls_of_syscalls AS p ON w.op_id = p.syscall_op
    WHERE NOT coalesce(p.app_event = 'app_write' AND is_on_descriptor(p.app_call), false)
  ),
  -- Calls of several threads count in the order of their ends: a stream has a lock.
  given AS (
    SELECT c.pid AS pid, c.fd AS fd, b.since_ns AS since_ns, c.file AS file, c.op_id AS op_id, c.call AS call, c.ts_ns AS ts_ns,
           sum(c.bytes) OVER (PARTITION BY c.pid, c.fd, b.since_ns ORDER BY c.done_ns, c.op_id ROWS UNBOUNDED PRECEDING) AS ends_at
    FROM calls AS c ASOF LEFT JOIN begins AS b ON c.pid = b.pid AND c.fd = b.fd AND c.ts_ns >= b.since_ns
  ),
  carried AS (
    SELECT w.pid AS pid, w.fd AS fd, b.since_ns AS since_ns, w.file AS file, w.op_id AS op_id, w.ts_ns AS ts_ns, w.bytes AS bytes,
           w.is_short AS is_short,
           sum(w.bytes) OVER (PARTITION BY w.pid, w.fd, b.since_ns ORDER BY w.ts_ns, w.op_id ROWS UNBOUNDED PRECEDING) AS ends_at
    FROM writes AS w ASOF LEFT JOIN begins AS b ON w.pid = b.pid AND w.fd = b.fd AND w.ts_ns >= b.since_ns
  ),
  -- How much a stream discards after a failed or short write is unknown.
  short_streams AS (SELECT DISTINCT pid, fd, coalesce(since_ns, 0) AS since_ns FROM carried WHERE is_short = 1),
  ends AS (
    SELECT pid, fd, since_ns, ends_at FROM given
    UNION
    SELECT pid, fd, since_ns, ends_at FROM carried WHERE bytes > 0
  ),
  pieces AS (
    SELECT pid, fd, coalesce(since_ns, 0) AS since_ns, ends_at,
           ends_at - coalesce(lag(ends_at) OVER (PARTITION BY pid, fd, since_ns ORDER BY ends_at), 0) AS bytes
    FROM ends
  ),
  of_calls AS (
    SELECT p.pid AS pid, p.fd AS fd, p.since_ns AS since_ns, p.ends_at AS ends_at, p.bytes AS bytes, g.file AS file,
           g.op_id AS app_op, g.call AS call, g.ts_ns AS given_ns
    FROM pieces AS p ASOF LEFT JOIN given AS g
      ON p.pid = g.pid AND p.fd = g.fd AND p.since_ns = coalesce(g.since_ns, 0) AND p.ends_at <= g.ends_at
  ),
  of_both AS (
    SELECT o.pid AS pid, o.fd AS fd, o.since_ns AS since_ns, coalesce(o.file, c.file) AS file, o.app_op AS app_op, o.call AS call,
           o.given_ns AS given_ns, c.op_id AS syscall_op, c.ts_ns AS carried_ns, o.bytes AS bytes
    FROM of_calls AS o ASOF LEFT JOIN (SELECT * FROM carried WHERE bytes > 0) AS c
      ON o.pid = c.pid AND o.fd = c.fd AND o.since_ns = coalesce(c.since_ns, 0) AND o.ends_at <= c.ends_at
  )
SELECT o.pid AS pid, o.fd AS fd, o.file AS file, o.app_op AS app_op, o.call AS call, o.syscall_op AS syscall_op,
       CAST(least(o.bytes, 9223372036854775807) AS BIGINT) AS bytes,
       CASE WHEN o.carried_ns >= o.given_ns THEN minus(o.carried_ns, o.given_ns) END AS kept_ns,
       CASE WHEN s.pid IS NOT NULL THEN 'inferred'
            WHEN max(CASE WHEN o.app_op IS NULL OR o.carried_ns < o.given_ns THEN 1 ELSE 0 END)
                   OVER (PARTITION BY o.pid, o.fd, o.since_ns) = 1 THEN 'inferred'
            ELSE 'exact' END AS confidence
FROM of_both AS o LEFT JOIN short_streams AS s ON o.pid = s.pid AND o.fd = s.fd AND o.since_ns = s.since_ns;

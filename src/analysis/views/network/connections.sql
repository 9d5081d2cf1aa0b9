-- Connected sockets and the bytes moved by system calls: one row per socket. Datagrams with an
-- address in each call are in syscall_send. A non-blocking connect that failed is missing if the
-- program asked for the result; if it did not ask, see tcp_connections.
--   since_ns          time of the first connection
--   pid, comm         the process that connected or accepted it
--   side              'connect' or 'accept'
--   address           address of the peer at that time; NULL: the program did not ask for the peer of an accept
--   socket            key of files
--   sent, received    bytes, without those that were only peeked at (MSG_PEEK)
--   operations        number of calls that sent or received, including sendfile and splice
--   total_ns          sum of their durations
--   sends             number of calls that sent a byte or more
CREATE VIEW connections AS
WITH
  calls AS (
    SELECT c.ts_ns AS ts_ns, c.pid AS pid, c.address AS address, c.result AS result, c.call AS call,
           CASE WHEN c.accepted = 0 THEN c.file ELSE c.accepted END AS socket
    FROM syscall_connection AS c
    WHERE c.call IN ('connect', 'accept', 'accept4')
  ),
  failed AS (
    SELECT file FROM syscall_sockopt WHERE option = 'SO_ERROR' AND value <> 0 AND result >= 0
  ),
  -- A non-blocking connect in progress returns an error.
  connected AS (
    SELECT socket, CASE call WHEN 'connect' THEN 'connect' ELSE 'accept' END AS side, min(ts_ns) AS since_ns,
           argMin(pid, ts_ns) AS pid, argMin(address, ts_ns) AS address
    FROM calls
    WHERE (result >= 0 OR errno_name(result) = 'EINPROGRESS') AND socket <> 0 AND socket NOT IN (SELECT file FROM failed)
    GROUP BY socket, CASE call WHEN 'connect' THEN 'connect' ELSE 'accept' END
  ),
  calls_on_files AS (
    SELECT file, CASE WHEN sends(class) THEN coalesce(bytes, 0) ELSE 0 END AS sent,
           CASE WHEN receives(class) THEN coalesce(bytes, 0) ELSE 0 END AS received, duration_ns
    FROM events
    WHERE layer = layer_at('kernel') AND (sends(class) OR receives(class))
    UNION ALL
    SELECT out_file, greatest(result, 0), 0, duration_ns FROM syscall_copy
    UNION ALL
    SELECT in_file, 0, greatest(result, 0), duration_ns FROM syscall_copy
  ),
  moved AS (
    SELECT file, total(sent) AS sent, total(received) AS received, count(*) AS operations, total(duration_ns) AS total_ns,
           count(*) FILTER (sent > 0) AS sends
    FROM calls_on_files WHERE file IN (SELECT socket FROM connected)
    GROUP BY file
  )
SELECT c.since_ns AS since_ns, c.pid AS pid, p.comm AS comm, c.side AS side, s.text AS address, c.socket AS socket,
       coalesce(m.sent, 0) AS sent, coalesce(m.received, 0) AS received,
       coalesce(m.operations, 0) AS operations, coalesce(m.total_ns, 0) AS total_ns, coalesce(m.sends, 0) AS sends
FROM connected AS c
  LEFT JOIN moved AS m ON c.socket = m.file
  LEFT JOIN strings AS s ON c.address = s.string
  LEFT JOIN programs AS p ON c.pid = p.program_pid;

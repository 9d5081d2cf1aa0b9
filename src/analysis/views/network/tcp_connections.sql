-- TCP connections that began in the recording, or had an event in it: one row per connection and
-- side. A loopback connection has two rows. Listening sockets are in net_state.
--   connection        number of the connection; each side has its own
--   since_ns          its begin, or its first event
--   pid, comm         the process that connected or accepted it; without an accept, the listening process
--   side              'connect' or 'accept'; NULL: it began before the recording
--   local, peer       addresses
--   socket            key of files, as in connections; 0: no program had it open
--   connect_ns        duration of the connect; NULL: it failed, or was not seen
--   life_ns           until the kernel removed it; NULL: still open at the end of the recording
--   ending            'open', 'closed', 'reset', 'refused' (a reset before it was established), 'not connected'
--   sent, received    bytes of data, each counted once; NULL: still open
--   retransmitted     segments retransmitted
--   resets_sent, resets_received   events of net_reset, by their direction
--   drops             number of dropped packets: events of net_drop
--   rtt_ns            last smoothed round-trip time; NULL: not measured
CREATE VIEW tcp_connections AS
WITH
  listening AS (
    SELECT connection FROM net_state WHERE new_state = 'LISTEN' OR (old_state = 'LISTEN' AND new_state <> 'SYN_RECV')
  ),
  lives AS (
    SELECT connection, min(ts_ns) AS since_ns, argMin(pid, ts_ns) AS first_pid, argMax(pid, ts_ns) AS last_pid,
           argMax(local, ts_ns) AS local, argMax(peer, ts_ns) AS peer, max(file) AS socket,
           max(CASE WHEN new_state = 'SYN_SENT' THEN 'connect' WHEN new_state = 'SYN_RECV' THEN 'accept' END) AS side,
           min(CASE WHEN old_state IN ('SYN_SENT', 'SYN_RECV') AND new_state NOT IN ('ESTABLISHED', 'SYN_RECV') THEN 0 ELSE 1 END)
             AS is_established,
           min(CASE WHEN old_state = 'SYN_SENT' AND new_state = 'ESTABLISHED' THEN state_ns END) AS connect_ns,
           max(CASE WHEN new_state = 'CLOSE' THEN ts_ns END) AS closed_ns,
           max(bytes_sent) AS sent, max(bytes_received) AS received, max(segments_retransmitted) AS retransmitted,
           argMax(rtt_ns, ts_ns) AS rtt_ns
    FROM net_state
    WHERE connection NOT IN (SELECT connection FROM listening)
    GROUP BY connection
  ),
  sent_again AS (SELECT connection, total(segments) AS segments FROM net_retransmit GROUP BY connection),
  resets AS (
    SELECT connection, count(CASE WHEN direction = 'sent' THEN 1 END) AS sent,
           count(CASE WHEN direction = 'received' THEN 1 END) AS received
    FROM net_reset
    GROUP BY connection
  ),
  drops AS (SELECT connection, count(*) AS packets FROM net_drop GROUP BY connection)
SELECT l.connection AS connection, l.since_ns AS since_ns, CASE l.side WHEN 'connect' THEN l.first_pid ELSE l.last_pid END AS pid,
       p.comm AS comm, l.side AS side, own.text AS local, other.text AS peer, l.socket AS socket,
       l.connect_ns AS connect_ns, CASE WHEN l.closed_ns >= l.since_ns THEN minus(l.closed_ns, l.since_ns) END AS life_ns,
       CASE WHEN l.closed_ns IS NULL THEN 'open' WHEN coalesce(r.sent, 0) + coalesce(r.received, 0) = 0
              THEN CASE l.is_established WHEN 1 THEN 'closed' ELSE 'not connected' END
            WHEN l.is_established = 1 THEN 'reset' ELSE 'refused' END AS ending,
       CASE WHEN l.closed_ns IS NOT NULL THEN l.sent END AS sent,
       CASE WHEN l.closed_ns IS NOT NULL THEN l.received END AS received,
       greatest(CAST(l.retransmitted AS BIGINT), coalesce(a.segments, 0)) AS retransmitted,
       coalesce(r.sent, 0) AS resets_sent, coalesce(r.received, 0) AS resets_received, coalesce(d.packets, 0) AS drops,
       nullif(l.rtt_ns, 0) AS rtt_ns
FROM lives AS l
  LEFT JOIN sent_again AS a ON l.connection = a.connection
  LEFT JOIN resets AS r ON l.connection = r.connection
  LEFT JOIN drops AS d ON l.connection = d.connection
  LEFT JOIN strings AS own ON l.local = own.string
  LEFT JOIN strings AS other ON l.peer = other.string
  LEFT JOIN programs AS p ON CASE l.side WHEN 'connect' THEN l.first_pid ELSE l.last_pid END = p.program_pid;

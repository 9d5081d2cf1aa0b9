-- Peers on the network: one row per address and side. Of accepted connections, the ports of the peer are left
-- out.
--   peer, side        address of the peer, and as in connections; NULL: unknown
--   sockets           number of connected sockets, by their system calls
--   sent, received, operations, total_ns   of these, as in connections
--   answer_p50_ns, answer_p99_ns, answers   times until the peer answered (socket_answers), exact, and their
--                     number; NULL: none
--   work_p50_ns, work_p99_ns   times until the program answered the peer
--   tcp_connections   number of TCP connections with the peer; 0 also if the layer net was not recorded
--   connect_p50_ns, connect_p99_ns   durations of their connects; NULL: none was seen
--   rtt_mean_ns       mean of their last smoothed round-trip times; NULL: not measured
--   retransmitted, resets, drops   segments retransmitted, resets in either direction, and dropped packets
CREATE VIEW network_peers AS
WITH
  named AS (
    SELECT CASE side WHEN 'accept' THEN regexp_replace(address, ':[0-9]+$', '') ELSE address END AS peer, side, socket, sent, received, operations, total_ns
    FROM connections
  ),
  talks AS (
    SELECT n.peer AS peer, n.side AS side, count(*) FILTER (a.kind = 'answer') AS answers, p50(CASE a.kind WHEN 'answer' THEN a.ns END) AS answer_p50_ns,
           p99(CASE a.kind WHEN 'answer' THEN a.ns END) AS answer_p99_ns, p50(CASE a.kind WHEN 'work' THEN a.ns END) AS work_p50_ns,
           p99(CASE a.kind WHEN 'work' THEN a.ns END) AS work_p99_ns
    FROM socket_answers AS a JOIN named AS n ON a.socket = n.socket
    GROUP BY n.peer, n.side
  ),
  calls AS (
    SELECT peer, side, count(*) AS sockets, total(sent) AS sent, total(received) AS received, total(operations) AS operations, total(total_ns) AS total_ns
    FROM named
    GROUP BY peer, side
  ),
  tcp AS (
    SELECT CASE side WHEN 'accept' THEN regexp_replace(peer, ':[0-9]+$', '') ELSE peer END AS peer, side, count(*) AS connections,
           p50(connect_ns) AS connect_p50_ns, p99(connect_ns) AS connect_p99_ns, mean(rtt_ns) AS rtt_mean_ns, total(retransmitted) AS retransmitted,
           total(resets_sent + resets_received) AS resets, total(drops) AS drops
    FROM tcp_connections
    GROUP BY ALL
  )
SELECT coalesce(c.peer, t.peer) AS peer, coalesce(c.side, t.side) AS side, coalesce(c.sockets, 0) AS sockets, coalesce(c.sent, 0) AS sent,
       coalesce(c.received, 0) AS received, coalesce(c.operations, 0) AS operations, coalesce(c.total_ns, 0) AS total_ns,
       a.answer_p50_ns AS answer_p50_ns, a.answer_p99_ns AS answer_p99_ns, coalesce(a.answers, 0) AS answers, a.work_p50_ns AS work_p50_ns,
       a.work_p99_ns AS work_p99_ns, coalesce(t.connections, 0) AS tcp_connections, t.connect_p50_ns AS connect_p50_ns,
       t.connect_p99_ns AS connect_p99_ns, t.rtt_mean_ns AS rtt_mean_ns, coalesce(t.retransmitted, 0) AS retransmitted,
       coalesce(t.resets, 0) AS resets, coalesce(t.drops, 0) AS drops
FROM calls AS c
  FULL JOIN tcp AS t ON c.peer IS NOT DISTINCT FROM t.peer AND c.side IS NOT DISTINCT FROM t.side
  LEFT JOIN talks AS a ON c.peer IS NOT DISTINCT FROM a.peer AND c.side IS NOT DISTINCT FROM a.side;

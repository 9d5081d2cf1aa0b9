-- id: F41
-- title: TCP segments sent again
-- shown: tcp_connections
-- severity: warning
-- needs: net
-- limit: segments = 10; fewer segments sent again are no finding
-- limit: share = 0.01; of the segments, the part that must be sent again
-- limit: segment_bytes = 1448; the size of a segment
-- sentence: {segments} segments to {subject} were sent again, of {sent_bytes} sent.
-- advice: Look for losses on the way: the interface's counters (ethtool -S), the switch, the peer.
SELECT
  -- The port of a client differs each time. What an open connection has sent is not known.
  CASE side WHEN 'accept' THEN regexp_replace(peer, ':[0-9]*\z', '') ELSE peer END AS subject, total(retransmitted) AS segments, total(sent) AS sent_bytes, CAST(0 AS BIGINT) AS could_save_ns, CAST(NULL AS UBIGINT) AS op_id
FROM tcp_connections
WHERE retransmitted > 0 AND sent IS NOT NULL
GROUP BY subject
HAVING total(retransmitted) >= $segments AND total(retransmitted) * $segment_bytes >= $share * total(sent)

-- id: F41
-- title: TCP segments sent again
-- shown: tcp_connections
-- severity: warning
-- needs: net
-- limit: segments = 10; fewer segments sent again are no finding
-- limit: share = 0.01; of the segments, the part that must be sent again
-- limit: segment_bytes = 1448; the size of a segment
-- sentence: {segments} segments to {subject} were sent again.
-- advice: Look for losses on the way: the interface's counters (ethtool -S), the switch, the peer.
SELECT peer AS subject, total(retransmitted) AS segments, total(sent) AS sent_bytes, CAST(0 AS BIGINT) AS could_save_ns, CAST(NULL AS UBIGINT) AS op_id
FROM tcp_connections
WHERE retransmitted > 0
GROUP BY peer
HAVING total(retransmitted) >= $segments AND total(retransmitted) * $segment_bytes >= $share * coalesce(total(sent), 0)

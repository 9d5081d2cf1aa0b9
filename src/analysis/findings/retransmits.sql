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
WITH
  -- The kernel's count of a connection is recorded at its end. What an open one has sent is the sum of its calls.
  sums AS (
    SELECT t.side AS side, t.peer AS peer, t.retransmitted AS retransmitted, coalesce(t.sent, c.sent) AS sent
    FROM tcp_connections AS t LEFT JOIN (SELECT socket, any_value(sent) AS sent FROM connections GROUP BY socket HAVING count(*) = 1) AS c
      ON t.socket = c.socket AND t.socket <> 0 AND t.side IS NOT NULL
    WHERE t.retransmitted > 0
  )
SELECT
  -- The port of a client differs each time.
  CASE side WHEN 'accept' THEN regexp_replace(peer, ':[0-9]*\z', '') ELSE peer END AS subject, total(retransmitted) AS segments, total(sent) AS sent_bytes, CAST(0 AS BIGINT) AS could_save_ns, CAST(NULL AS UBIGINT) AS op_id
FROM sums
WHERE sent > 0
GROUP BY subject
HAVING total(retransmitted) >= $segments AND total(retransmitted) * $segment_bytes >= $share * total(sent)

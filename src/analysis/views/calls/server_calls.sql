-- Calls to the servers of network file systems (NFS): one row per server and procedure, for the
-- selected calls.
--   server, program, version, procedure   as in fs_rpc
--   calls            calls that ended
--   errors           calls with a negative result, such as for a missing name
--   file_calls       calls that move or commit pages of a file
--   sent_again       transmissions after the first of each call
--   timeouts         timeouts of an answer
--   call_bytes, answer_bytes   including headers
--   total_ns         sum of the durations
--   queued_ns        part of total_ns before the last transmission
--   rtt_p50_ns, rtt_p99_ns     from transmission to answer, for calls with an answer
--   longest_ns       the longest duration
--   unfinished       calls without an end when the recording stopped
CREATE VIEW server_calls AS
WITH said AS (
  SELECT r.*, s.text AS server_name, p.text AS program_name, n.text AS procedure_name, is_unfinished(r.result) AS is_open
  FROM fs_rpc AS r SEMI JOIN (SELECT ts_ns, tid FROM events WHERE event = 'fs_rpc') AS e ON r.ts_ns = e.ts_ns AND r.tid = e.tid
    LEFT JOIN strings AS s ON r.server = s.string
    LEFT JOIN strings AS p ON r.program = p.string
    LEFT JOIN strings AS n ON r.procedure = n.string
)
SELECT server_name AS server, program_name AS program, version, procedure_name AS procedure,
       count(*) FILTER (NOT is_open) AS calls,
       count(*) FILTER (NOT is_open AND is_error(result)) AS errors,
       count(*) FILTER (NOT is_open AND file <> 0) AS file_calls,
       total(CASE WHEN transmissions > 1 THEN transmissions - 1 ELSE 0 END) AS sent_again,
       total(timeouts) AS timeouts, total(call_bytes) AS call_bytes, total(answer_bytes) AS answer_bytes,
       total(duration_ns) AS total_ns, total(queued_ns) AS queued_ns,
       p50(CASE WHEN rtt_ns > 0 THEN rtt_ns END) AS rtt_p50_ns, p99(CASE WHEN rtt_ns > 0 THEN rtt_ns END) AS rtt_p99_ns,
       max(duration_ns) AS longest_ns, count(*) FILTER (is_open) AS unfinished
FROM said
GROUP BY ALL;

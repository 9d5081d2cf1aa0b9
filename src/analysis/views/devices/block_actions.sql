-- What happened to bios and requests at devices, in the letters of blktrace: one row per event.
--   at_ns            when it happened (CLOCK_MONOTONIC); for a completion, its end
--   step             the order of actions at the same time
--   action           'Q' bio queued, 'G' request made, 'M' 'F' merged at the end or the front, 'I' request
--                    inserted, 'D' issued, 'C' completed, 'R' requeued, 'P' plugged, 'U' unplugged
--   device, sector, bytes, flags, cpu   as in the event; 0 where it has none
--   tid, comm        the task, and the program of its process; NULL: unknown
--   error            of a completion, else 0
--   requests         number of requests unplugged, else 0
CREATE VIEW block_actions AS
WITH
  actions AS (
    SELECT ts_ns AS at_ns, 1 AS step, 'Q' AS action, device, sector, bytes, flags, cpu, pid, tid, 0 AS error, 0 AS requests FROM block_queue
    UNION ALL SELECT ts_ns, 2, 'G', device, sector, bytes, flags, cpu, pid, tid, 0, 0 FROM block_getrq
    UNION ALL SELECT ts_ns, 3, CASE merge WHEN 'front' THEN 'F' ELSE 'M' END, device, sector, bytes, flags, cpu, pid, tid, 0, 0 FROM block_merge
    UNION ALL SELECT ts_ns, 4, 'P', device, 0, 0, 0, cpu, pid, tid, 0, 0 FROM block_plug
    UNION ALL SELECT ts_ns, 5, 'I', device, sector, bytes, flags, cpu, pid, tid, 0, 0 FROM block_insert
    UNION ALL SELECT ts_ns, 6, 'U', device, 0, 0, 0, cpu, pid, tid, 0, requests FROM block_unplug
    UNION ALL SELECT ts_ns, 7, 'D', device, sector, bytes, flags, cpu, pid, tid, 0, 0 FROM block_issue
    UNION ALL SELECT ts_ns, 8, 'R', device, sector, bytes, flags, cpu, pid, tid, 0, 0 FROM block_requeue
    UNION ALL SELECT plus(ts_ns, duration_ns), 9, 'C', device, sector, bytes, flags, cpu, pid, tid, error, 0 FROM block_complete
  )
SELECT a.at_ns AS at_ns, a.step AS step, a.action AS action, a.device AS device, a.sector AS sector, a.bytes AS bytes,
       a.flags AS flags, a.cpu AS cpu, a.tid AS tid, p.comm AS comm, a.error AS error, a.requests AS requests
FROM actions AS a LEFT JOIN programs AS p ON a.pid = p.program_pid;

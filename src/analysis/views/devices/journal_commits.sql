-- Commits of the journals of file systems, with their waiters: one row per commit.
--   ts_ns, duration_ns   its begin and its duration
--   op_id         an operation that waited for it
--   result        0 or a negative errno
--   device, device_name   the device of the file system
--   transaction   its number in the journal
--   running_ns, request_delay_ns, handle_wait_ns   times before the commit, as in fs_journal_commit
--   locked_ns, flushing_ns, logging_ns   its phases, which add up to duration_ns
--   handles, traced_handles, blocks, blocks_logged   its contents, as in fs_journal_commit
--   waiters       number of file syncs (fs_sync) that needed this commit and waited for its end
--   longest_wait_ns   the longest wait of one of them; 0: no recorded task waited
CREATE VIEW journal_commits AS
WITH
  waits AS (
    SELECT c.device AS of_device, c.transaction AS of_transaction, count(*) AS waiters,
           max(plus(c.ts_ns, c.duration_ns) - greatest(c.ts_ns, s.ts_ns)) AS longest_wait_ns
    FROM fs_journal_commit AS c
      JOIN fs_sync AS s ON c.device = s.device AND c.transaction = s.transaction
    WHERE s.ts_ns < plus(c.ts_ns, c.duration_ns)
    GROUP BY c.device, c.transaction
  )
SELECT c.ts_ns AS ts_ns, c.op_id AS op_id, c.device AS device, d.name AS device_name, c.transaction AS transaction,
       c.duration_ns AS duration_ns, c.running_ns AS running_ns, c.request_delay_ns AS request_delay_ns,
       c.handle_wait_ns AS handle_wait_ns, c.locked_ns AS locked_ns, c.flushing_ns AS flushing_ns,
       c.logging_ns AS logging_ns, c.handles AS handles, c.traced_handles AS traced_handles, c.blocks AS blocks,
       c.blocks_logged AS blocks_logged, c.result AS result,
       coalesce(w.waiters, 0) AS waiters, coalesce(w.longest_wait_ns, 0) AS longest_wait_ns
FROM fs_journal_commit AS c
  LEFT JOIN waits AS w ON c.device = w.of_device AND c.transaction = w.of_transaction
  LEFT JOIN devices AS d ON c.device = d.device;

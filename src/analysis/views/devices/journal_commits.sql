-- Commits of the journals of file systems, and who waited for each.
--   ts_ns, duration_ns   when it began, how long it took
--   op_id         an operation that waited for it
--   result        how it ended
--   device, device_name   the file system's
--   transaction   its number in the journal
--   running_ns, request_delay_ns, handle_wait_ns   what was before, as in fs_journal_commit
--   locked_ns, flushing_ns, logging_ns   its phases, which add up to duration_ns
--   handles, traced_handles, blocks, blocks_logged   what it was of, as in fs_journal_commit
--   waiters       syncs of files (fs_sync) that had to have it committed, and that it ended for
--   longest_wait_ns   the longest that it made one of them wait; 0: nobody waited, or nobody who is told
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

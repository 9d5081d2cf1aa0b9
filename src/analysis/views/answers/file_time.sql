-- What calls on files spent their time on: one row per kind. The time of every thread counts, so that
-- the kinds add up to the sum of the calls' durations.
--   kind    'the disk', 'write-back' (of data or metadata, beside the disk's own work), 'the journal', 'a processor', 'a lock', 'a limit', 'memory', 'a server', 'others',
--           'the kernel' (work), 'outside the kernel' (the C library, and the cost of tracing), 'completion' (asynchronous operations),
--           'not split' (work and waits, which need layers sched and block), 'unknown' (no layer below the C library was recorded)
--   ns      its time
--   share   its share of the time of all calls on files
CREATE VIEW file_time AS
WITH
  parts AS (
    SELECT t.ns AS ns,
           CASE WHEN t.part IN ('device', 'scheduler', 'plug', 'queue') OR t.reason IN ('block_io', 'page_read', 'tag') THEN 'the disk'
                WHEN t.reason IN ('write_back', 'metadata') THEN 'write-back'
                WHEN t.part = 'journal' OR t.reason IN ('journal_commit', 'journal_space', 'journal_buffer') THEN 'the journal'
                WHEN t.reason = 'cpu' THEN 'a processor'
                WHEN t.reason IN ('lock', 'direct_io', 'file_lock') THEN 'a lock'
                WHEN t.part = 'held back' OR t.reason = 'throttle' THEN 'a limit'
                WHEN t.reason = 'memory' THEN 'memory'
                WHEN t.reason = 'server' THEN 'a server'
                WHEN t.part IN ('submit', 'worker', 'unreported') OR t.reason = 'completion' THEN 'completion'
                WHEN t.part = 'wait' THEN 'others'
                WHEN t.part = 'outside the kernel' THEN 'outside the kernel'
                WHEN t.part = 'call' THEN 'unknown'
                WHEN t.part = 'kernel' THEN 'not split'
                ELSE 'the kernel' END AS kind
    FROM file_call_parts AS t
  ),
  sums AS (SELECT kind, total(ns) AS ns FROM parts GROUP BY kind)
SELECT kind, ns, ns / nullif((SELECT sum(ns) FROM sums), 0) AS share
FROM sums;

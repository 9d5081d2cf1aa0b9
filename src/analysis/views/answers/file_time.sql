-- What calls on files spent their time on: one row per kind. The time of every thread counts, so that
-- the kinds add up to the sum of the calls' durations.
--   kind    'the disk', 'write-back' (of data or metadata, beside the disk's own work), 'the journal', 'a processor', 'a lock', 'a limit', 'memory', 'a server', 'others',
--           'the kernel' (work), 'outside the kernel' (the C library, and the cost of tracing), 'completion' (asynchronous operations),
--           'not split' (work and waits, which need layers sched and block), 'unknown' (no layer below the C library was recorded)
--   words   the kind within a sentence: 'waiting for the disk'
--   ns      its time
--   share   its share of the time of all calls on files
CREATE VIEW file_time AS
WITH
  parts AS (SELECT kind_of_time(t.part, t.reason) AS kind, t.ns AS ns FROM file_call_parts AS t),
  sums AS (SELECT kind, total(ns) AS ns FROM parts GROUP BY kind)
SELECT s.kind AS kind, k.words AS words, s.ns AS ns, s.ns / nullif((SELECT sum(ns) FROM sums), 0) AS share
FROM sums AS s JOIN time_kinds AS k ON s.kind = k.kind;

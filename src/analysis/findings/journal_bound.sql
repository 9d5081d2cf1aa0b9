-- id: F05
-- title: waits for the journal
-- shown: call_times
-- severity: warning
-- needs: calls, sched
-- merges: syncs
-- limit: share = 0.3; of the time in calls on files, the part that they must take
-- limit: journal_ns = 100000000; less time is no finding
-- sentence: Calls of {subject} waited {took_ns} of {calls_ns} for commits of a file system's journal.
-- advice: Sync less often, put the journal on a device of its own, or use ext4's fast_commit.
WITH
  parts AS (
    SELECT *, part = 'journal' OR coalesce(reason IN ('journal_commit', 'journal_space', 'journal_buffer'), false) AS is_journal
    FROM file_call_parts
  ),
  sums AS (SELECT program, total(CASE WHEN is_journal THEN ns END) AS took_ns, total(ns) AS calls_ns FROM parts GROUP BY program),
  slow AS (SELECT * FROM sums WHERE took_ns >= $journal_ns AND took_ns >= $share * calls_ns),
  waits_of AS (
    SELECT program, op_id, part, reason, total(ns) AS ns
    FROM parts SEMI JOIN slow USING (program)
    WHERE is_journal
    GROUP BY program, op_id, part, reason
  ),
  busy AS (
    SELECT w.program AS program, union_length(c.ts_ns, c.until_ns) AS busy_ns, arg_max(w.op_id, w.ns) AS op_id
    FROM waits_of AS w JOIN file_calls_by_op AS c ON w.op_id = c.op_id
    GROUP BY w.program
  )
SELECT s.program AS subject, s.took_ns AS took_ns, s.calls_ns AS calls_ns, CAST(least(s.took_ns, b.busy_ns) AS BIGINT) AS could_save_ns, b.op_id AS op_id
FROM slow AS s JOIN busy AS b ON s.program = b.program

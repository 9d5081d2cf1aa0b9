-- id: F05
-- title: waits for the journal
-- severity: warning
-- needs: calls, sched
-- merges: syncs
-- limit: share = 0.3; of the time in calls on files, the part that they must take
-- limit: journal_ns = 100000000; less time is no finding
-- sentence: Calls of {subject} waited {took_ns} of {calls_ns} for commits of a file system's journal.
-- advice: Sync less often, put the journal on a device of its own, or use ext4's fast_commit.
WITH
  parts AS (
    SELECT c.program AS program, t.ns AS ns, t.op_id AS op_id, c.ts_ns AS ts_ns, c.until_ns AS until_ns,
           t.part = 'journal' OR coalesce(t.reason IN ('journal_commit', 'journal_space', 'journal_buffer'), false) AS is_journal
    FROM op_time AS t JOIN file_calls AS c ON t.op_id = c.op_id
  )
SELECT program AS subject, total(CASE WHEN is_journal THEN ns END) AS took_ns, total(ns) AS calls_ns,
       CAST(least(total(CASE WHEN is_journal THEN ns END), union_length(CASE WHEN is_journal THEN ts_ns END, until_ns)) AS BIGINT) AS could_save_ns, arg_max(op_id, ns) FILTER (is_journal) AS op_id
FROM parts
GROUP BY program
HAVING total(CASE WHEN is_journal THEN ns END) >= $journal_ns AND total(CASE WHEN is_journal THEN ns END) >= $share * total(ns)

-- The time of each operation, split into parts: one row per operation, part and reason. The parts
-- do not overlap and add up to the duration. Operations are calls of the layer call_layer,
-- asynchronous operations, and calls into the C library. The last consist of their system calls,
-- from begin to end, and the time outside of these. If two parts overlap, the one with the smaller
-- step counts.
--   op_id      the operation
--   step       the order of the parts
--   part       what happened; time_parts has the meanings
--   reason     for the part 'wait', a reason of wait_reasons; NULL: others
--   ns         length in nanoseconds

-- FUNCTION step_of(part): the step of a part of time_parts; a constant for the planner.

-- One row per part of an operation's time. If the waits of a task are known, devices and journals
-- are a part only of the time in which it waited.
--   step, part   as in op_time
--   words     the part within a sentence about its kind; NULL: the kind says it all
--   meaning   explanation
CREATE TABLE time_parts (step INTEGER, part VARCHAR, words VARCHAR, meaning VARCHAR);
INSERT INTO time_parts
SELECT step_of(part), part, words, meaning
FROM (VALUES
  ('device', 'at the device', 'a device worked for it, or for what it had to wait for'),
  ('scheduler', 'in the scheduler''s queue', 'a request of it waited there'),
  ('plug', 'held back before the scheduler', 'a bio of it was held back to go together with others, or waited for a free request'),
  ('queue', 'in its queue', 'likewise, of a device without a scheduler, or of requests that went past it'),
  ('journal', 'a commit', 'a commit that it needed was under way, and none of the above'),
  ('held back', 'held back before the device, as by a control group', 'a thread of the kernel had its bio and had not asked the device: a control group''s limit (io.max), or a file system that has threads for direct I/O'),
  ('wait', NULL, 'its task did not run'),
  ('file system', 'in the file system', 'in the layer vfs; where waits are known, its task ran there'),
  ('submit', 'being submitted', 'an asynchronous operation, until it asked a device, or a worker of the kernel had it'),
  ('worker', 'with a worker of the kernel', 'an asynchronous operation, until that asked a device'),
  ('unreported', 'done, not yet visible to the program', 'an asynchronous operation, until the program could see its end'),
  ('system call', NULL, 'its task ran in the kernel, outside of the layer vfs'),
  ('kernel', NULL, 'work and waits, which the trace does not separate'),
  ('outside the kernel', NULL, 'a call into the C library, outside of its system calls: the library''s work, the cost of tracing, and time without a processor'),
  ('call', NULL, 'a call into the C library without system calls in the trace')) AS p(part, words, meaning);

-- What operations spend time on, in the words of reports: one row per kind.
--   kind    the disk, a lock, ...; kind_of_time(part, reason) gives it
--   words   the kind within a sentence
--   noun    what is waited for; NULL: it is no wait
CREATE TABLE time_kinds (kind VARCHAR, words VARCHAR, noun VARCHAR);
INSERT INTO time_kinds
SELECT kind, coalesce(words, 'waiting for ' || kind), CASE WHEN words IS NULL THEN kind END
FROM (VALUES
  ('the disk', NULL), ('write-back', NULL), ('the journal', NULL), ('a processor', NULL), ('a lock', NULL), ('a limit', NULL),
  ('memory', NULL), ('a server', NULL), ('others', NULL), ('completion', NULL),
  ('the kernel', 'work of the kernel'), ('outside the kernel', 'outside the kernel'),
  ('not split', 'not split into work and waits'), ('unknown', 'in unknown parts')) AS k(kind, words);

-- What time is spent on, by a part and a reason of op_time: a kind of time_kinds.
CREATE MACRO kind_of_time(part, reason) AS
  CASE WHEN part IN ('device', 'scheduler', 'plug', 'queue') OR reason IN ('block_io', 'page_read', 'tag') THEN 'the disk'
       WHEN reason IN ('write_back', 'metadata') THEN 'write-back'
       WHEN part = 'journal' OR reason IN ('journal_commit', 'journal_space', 'journal_buffer') THEN 'the journal'
       WHEN reason = 'cpu' THEN 'a processor'
       WHEN reason IN ('lock', 'direct_io', 'file_lock') THEN 'a lock'
       WHEN part = 'held back' OR reason = 'throttle' THEN 'a limit'
       WHEN reason = 'memory' THEN 'memory'
       WHEN reason = 'server' THEN 'a server'
       WHEN part IN ('submit', 'worker', 'unreported') OR reason = 'completion' THEN 'completion'
       WHEN part = 'wait' THEN 'others'
       WHEN part = 'outside the kernel' THEN 'outside the kernel'
       WHEN part = 'call' THEN 'unknown'
       WHEN part = 'kernel' THEN 'not split'
       ELSE 'the kernel' END;

-- The parts of calls of the layer call_layer and of asynchronous operations, as in op_time; several
-- rows may have the same part.
--   op_id, step, reason, ns   as in op_time
CREATE VIEW call_parts AS
SELECT op_id, step, reason, ns FROM selected_call_parts;

CREATE VIEW op_time AS
WITH
  calls AS MATERIALIZED (SELECT * FROM call_parts),
  inside AS MATERIALIZED (SELECT app_op, syscall_op FROM app_calls_of_syscalls WHERE place = 'inside'),
  parts AS (
    SELECT op_id, step, reason, ns FROM calls
    UNION ALL
    SELECT i.app_op AS op_id, c.step AS step, c.reason AS reason, c.ns AS ns FROM inside AS i JOIN calls AS c ON i.syscall_op = c.op_id
    UNION ALL
    SELECT app_op AS op_id, step_of('outside the kernel') AS step, NULL AS reason, minus(duration_ns, kernel_ns) AS ns
    FROM library_times
    WHERE duration_ns > kernel_ns AND app_op <> 0 AND is_asked(layer_at('kernel'))
  )
SELECT c.op_id AS op_id, c.step AS step, p.part AS part, c.reason AS reason, total(c.ns) AS ns
FROM parts AS c JOIN time_parts AS p ON c.step = p.step
GROUP BY c.op_id, c.step, p.part, c.reason;

-- The same by the program's call: the one into the C library if it is known, else the system call.
-- One row per call, part and reason.
--   call         as in operations; the class if it has none
--   for_others   true: another program ends such a call, as for pipes, sockets and terminals
--   part, reason   as in op_time
--   calls        number of calls
--   ns           sum of this part over the calls
CREATE VIEW call_times AS
WITH
  -- One row per number, here and for the library's calls: in a forged trace, thousands of calls may
  -- share one.
  inside AS MATERIALIZED (SELECT syscall_op, min(app_op) AS app_op FROM app_calls_of_syscalls WHERE place = 'inside' GROUP BY syscall_op),
  spans AS (
    SELECT e.op_id AS op_id, e.layer AS layer, coalesce(e.call, e.class) AS call, e.duration_ns AS duration_ns,
           n.file IS NOT NULL OR waits_for_others(e.class) OR (e.file = 0 AND e.path = 0 AND is_unfinished(e.error)) AS for_others
    FROM events AS e LEFT JOIN files_without_device AS n ON e.file = n.file
    WHERE e.op_id <> 0 AND e.duration_ns IS NOT NULL
      AND (is_asked(e.layer) OR e.layer = layer_at('library'))
  ),
  library AS (SELECT op_id, min(call) AS call, bool_or(for_others) AS for_others FROM spans WHERE layer = layer_at('library') GROUP BY op_id),
  -- Each system call as part of the program's call.
  heads AS (
    SELECT s.op_id AS op_id, coalesce(a.call, s.call) AS call, coalesce(a.for_others, s.for_others) AS for_others, a.call IS NOT NULL AS is_inside
    FROM (SELECT * FROM spans WHERE is_asked(layer)) AS s
      LEFT JOIN inside AS i ON s.op_id = i.syscall_op
      LEFT JOIN library AS a ON i.app_op = a.op_id
  ),
  kernel AS (
    SELECT h.call AS call, h.for_others AS for_others, t.step AS step, t.reason AS reason, h.is_inside AS is_inside, sum(t.ns) AS ns
    FROM call_parts AS t JOIN heads AS h ON t.op_id = h.op_id
    GROUP BY ALL
  ),
  parts AS (
    SELECT call, for_others, step, reason, ns, is_inside FROM kernel
    UNION ALL
    SELECT call, for_others, step_of('outside the kernel') AS step, NULL AS reason, duration_ns AS ns, false AS is_inside
    FROM spans
    WHERE layer = layer_at('library') AND is_asked(layer_at('kernel'))
    UNION ALL
    SELECT call, for_others, step_of('outside the kernel') AS step, NULL AS reason, -ns AS ns, false AS is_inside FROM kernel WHERE is_inside
  ),
  counts AS (
    SELECT call, for_others, count(*) AS calls
    FROM (SELECT call, for_others FROM heads WHERE NOT is_inside
          UNION ALL
          SELECT call, for_others FROM spans WHERE layer = layer_at('library') AND is_asked(layer_at('kernel'))) AS made
    GROUP BY call, for_others
  )
SELECT p.call AS call, p.for_others AS for_others, s.part AS part, p.reason AS reason, any_value(c.calls) AS calls, total(p.ns) AS ns
FROM parts AS p
  JOIN time_parts AS s ON p.step = s.step
  JOIN counts AS c ON p.call = c.call AND p.for_others = c.for_others
GROUP BY p.call, p.for_others, s.part, p.reason
HAVING sum(p.ns) > 0;

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

-- The step of a part of time_parts: a constant for the planner.
CREATE MACRO step_of(name) AS CAST(list_position(
  ['device', 'scheduler', 'plug', 'queue', 'journal', 'held back', 'wait', 'file system',
   'submit', 'worker', 'unreported', 'system call', 'kernel', 'outside the kernel', 'call'], name) AS INTEGER);

-- One row per part of an operation's time. If the waits of a task are known, devices and journals
-- are a part only of the time in which it waited.
--   step, part   as in op_time
--   words     the part within a sentence
--   meaning   explanation
CREATE TABLE time_parts (step INTEGER, part VARCHAR, words VARCHAR, meaning VARCHAR);
INSERT INTO time_parts
SELECT step_of(part), part, words, meaning
FROM (VALUES
  ('device', 'the device', 'a device worked for it, or for what it had to wait for'),
  ('scheduler', 'in the scheduler''s queue of the device', 'a request of it waited there'),
  ('plug', 'held back before the scheduler', 'a bio of it was held back to go together with others, or waited for a free request'),
  ('queue', 'waiting for the device in its queue', 'likewise, of a device without a scheduler, or of requests that went past it'),
  ('journal', 'the journal''s commit besides', 'a commit that it needed was under way, and none of the above'),
  ('held back', 'held back before the device, as by a limit of its control group', 'a thread of the kernel had its bio and had not asked the device: a control group''s limit (io.max), or a file system that has threads for direct I/O'),
  ('wait', 'wait', 'its task did not run'),
  ('file system', 'in the file system', 'in the layer vfs; where waits are known, its task ran there'),
  ('submit', 'being submitted', 'an asynchronous operation, until it asked a device, or a worker of the kernel had it'),
  ('worker', 'with a worker of the kernel', 'an asynchronous operation, until that asked a device'),
  ('unreported', 'done, not yet visible to the program', 'an asynchronous operation, until the program could see its end'),
  ('system call', 'its task ran', 'its task ran in the kernel, outside of the layer vfs'),
  ('kernel', 'everything else, work and waits in the kernel', 'work and waits, which the trace does not separate'),
  ('outside the kernel', 'outside the kernel', 'a call into the C library, outside of its system calls: the library''s work, the cost of tracing, and time without a processor'),
  ('call', 'its call', 'a call into the C library without system calls in the trace')) AS p(part, words, meaning);

-- The bit of a part, for several parts at the same time: the smaller its step, the lower the bit.
CREATE MACRO bit_of(name) AS CAST(1 << step_of(name) AS UBIGINT);

-- The lowest bit set in a number other than 0.
CREATE MACRO lowest_bit(bits) AS bits & ((~bits) + 1);

-- One row per reason of a wait.
--   reason   as in wait_reasons
--   bit      its bit, above those of all parts
CREATE VIEW wait_bits AS
SELECT reason, CAST(1 << ((SELECT max(step) FROM time_parts) + row_number() OVER (ORDER BY reason)) AS UBIGINT) AS bit FROM wait_reasons;

-- The parts of calls of the layer call_layer and of asynchronous operations, as in op_time; several
-- rows may have the same part.
--   op_id, step, reason, ns   as in op_time
-- Each activity is a bit. The operation itself is one of the last parts, which count when nothing
-- else happens. Above the bits of all parts are those of the wait reasons.
CREATE VIEW call_parts AS
WITH
  known AS (SELECT count(*) > 0 AS has_waits FROM hooks WHERE event = 'sched_wait' AND hook <> ''),
  heads AS (
    SELECT op_id, ts_ns, plus(ts_ns, duration_ns) AS until_ns, layer
    FROM events
    WHERE op_id <> 0 AND duration_ns IS NOT NULL AND is_asked(layer)
  ),
  own AS (
    SELECT op_id, ts_ns AS from_ns, until_ns,
           CASE WHEN layer = layer_at('library') THEN bit_of('call')
                WHEN layer <> layer_at('later') AND (has_waits OR op_id IN (SELECT op_id FROM sched_wait)) THEN bit_of('system call')
                ELSE bit_of('kernel') END AS what
    FROM heads CROSS JOIN known
  ),
  -- Read into the cache by a kernel thread; the operation is inferred.
  held_back_reads AS (SELECT * FROM all_links WHERE by_op = 0 AND op_id <> 0 AND direction = 'read'),
  held_back AS (
    SELECT op_id, ts_ns FROM block_queue WHERE by_kernel_thread <> 0
    UNION ALL
    SELECT op_id, ts_ns FROM held_back_reads
  ),
  asked AS (
    SELECT by_op AS op_id, ts_ns, inserted_ns, issued_ns, completed_ns
    FROM all_links WHERE by_op <> 0 AND completed_ns IS NOT NULL
    UNION ALL
    -- Read for it but submitted by another: a kernel thread, or the call that submitted it.
    SELECT op_id, ts_ns, inserted_ns, issued_ns, completed_ns
    FROM all_links WHERE by_op <> op_id AND op_id <> 0 AND direction = 'read' AND completed_ns IS NOT NULL
    UNION ALL
    -- A sync also waits for what others write back meanwhile: of its file, or of all files.
    SELECT op_id, ts_ns, inserted_ns, issued_ns, completed_ns FROM sync_writes WHERE by_op <> op_id
    UNION ALL
    -- A request without bytes, such as a flush of the disk's cache, has no link.
    SELECT op_id, ts_ns, NULL AS inserted_ns, ts_ns AS issued_ns, plus(ts_ns, duration_ns) AS completed_ns
    FROM block_complete WHERE op_id <> 0 AND bytes = 0
  ),
  requests AS (
    SELECT op_id, ts_ns, CASE WHEN inserted_ns IS NOT NULL THEN least(greatest(inserted_ns, ts_ns), issued_ns) END AS inserted_ns,
           issued_ns, completed_ns
    FROM asked
    GROUP BY ALL
  ),
  waited AS (SELECT w.*, b.bit AS bit FROM all_waits AS w LEFT JOIN wait_bits AS b ON w.reason = b.reason),
  wait_parts AS (
    SELECT op_id, parent_op, ts_ns AS from_ns, plus(ts_ns, blocked_ns) AS until_ns, bit_of('wait') | bit AS what FROM waited WHERE bit IS NOT NULL
    UNION ALL
    SELECT op_id, parent_op, plus(ts_ns, blocked_ns) AS from_ns, plus(ts_ns, duration_ns) AS until_ns,
           bit_of('wait') | (SELECT bit FROM wait_bits WHERE reason = 'cpu') AS what
    FROM waited WHERE runnable_ns > 0
  ),
  commits AS (SELECT op_id, parent_op, ts_ns, plus(ts_ns, duration_ns) AS until_ns FROM fs_journal_commit),
  -- One row per number: in a forged trace, thousands of operations may share one.
  begins AS (
    SELECT op_id, min(ts_ns) AS ts_ns, max(until_ns) AS until_ns
    FROM heads
    WHERE op_id IN (SELECT op_id FROM async_operation UNION ALL SELECT op_id FROM held_back)
    GROUP BY op_id
  ),
  phases AS (
    SELECT a.op_id AS op_id, h.ts_ns AS begin_ns, plus(h.ts_ns, a.submit_ns) AS submitted_ns,
           plus(h.ts_ns, plus(a.submit_ns, a.worker_ns)) AS worked_ns, minus(h.until_ns, a.unreported_ns) AS done_ns, h.until_ns AS until_ns
    FROM async_phases AS a JOIN begins AS h ON a.op_id = h.op_id
  ),
  pieces AS (
    SELECT op_id, issued_ns AS from_ns, completed_ns AS until_ns, bit_of('device') AS what FROM requests
    UNION ALL SELECT op_id, inserted_ns, issued_ns, bit_of('scheduler') FROM requests WHERE inserted_ns IS NOT NULL
    UNION ALL SELECT op_id, ts_ns, inserted_ns, bit_of('plug') FROM requests WHERE inserted_ns IS NOT NULL
    UNION ALL SELECT op_id, ts_ns, issued_ns, bit_of('queue') FROM requests WHERE inserted_ns IS NULL
    UNION ALL SELECT b.op_id, h.ts_ns, b.ts_ns, bit_of('held back') FROM held_back AS b JOIN begins AS h ON b.op_id = h.op_id
    UNION ALL SELECT op_id, ts_ns, until_ns, bit_of('journal') FROM commits
    UNION ALL SELECT parent_op, ts_ns, until_ns, bit_of('journal') FROM commits
    UNION ALL SELECT op_id, ts_ns, plus(ts_ns, duration_ns), bit_of('file system') FROM all_events
              WHERE layer = layer_at('files') AND duration_ns IS NOT NULL AND NOT is_asked(layer)
    UNION ALL SELECT op_id, begin_ns, submitted_ns, bit_of('submit') FROM phases
    UNION ALL SELECT op_id, submitted_ns, worked_ns, bit_of('worker') FROM phases
    UNION ALL SELECT op_id, done_ns, until_ns, bit_of('unreported') FROM phases
    UNION ALL SELECT op_id, from_ns, until_ns, what FROM wait_parts
    UNION ALL SELECT parent_op, from_ns, until_ns, what FROM wait_parts
  ),
  -- Most operations have no pieces, and a number of their own: only the others need the sums of
  -- overlaps.
  divided AS (
    SELECT op_id FROM pieces WHERE op_id <> 0
    UNION
    SELECT op_id FROM heads GROUP BY op_id HAVING count(*) > 1
  ),
  summed AS (
    SELECT op_id, unnest(overlap_times(from_ns, until_ns, CAST(what AS UBIGINT)), recursive := true)
    FROM (SELECT op_id, from_ns, until_ns, what FROM own SEMI JOIN divided USING (op_id)
          UNION ALL
          SELECT op_id, from_ns, until_ns, what FROM pieces WHERE op_id <> 0) AS p
    GROUP BY op_id
  ),
  times AS (
    SELECT op_id, what, ns FROM summed
    UNION ALL
    SELECT op_id, CAST(what AS UBIGINT) AS what, until_ns - from_ns AS ns FROM own ANTI JOIN divided USING (op_id) WHERE until_ns > from_ns
  ),
  counted AS (
    SELECT op_id, ns, what,
           CASE WHEN what & bit_of('call') <> 0 THEN bit_of('call')
                WHEN what & bit_of('system call') <> 0 AND what & bit_of('wait') = 0
                  THEN what & (bit_of('file system') | bit_of('system call'))
                ELSE what END AS parts
    FROM times
    WHERE what & (bit_of('call') | bit_of('system call') | bit_of('kernel')) <> 0
  ),
  steps AS (SELECT op_id, ns, what, CAST(bit_count(lowest_bit(parts) - 1) AS INTEGER) AS step FROM counted),
  -- If several waits overlap, the one with the lowest bit counts.
  named AS (
    SELECT op_id, ns, step,
           CASE WHEN step = step_of('wait') THEN lowest_bit(what & (SELECT bit_or(bit) FROM wait_bits)) END AS wait
    FROM steps
  )
SELECT n.op_id AS op_id, n.step AS step, w.reason AS reason, n.ns AS ns
FROM named AS n LEFT JOIN wait_bits AS w ON n.wait = w.bit;

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

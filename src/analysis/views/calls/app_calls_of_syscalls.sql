-- One row per system call, with the call into the C library that made it. A system call that begins
-- during a library call of the same thread belongs to it: a thread does one thing at a time. Both
-- layers use the kernel's clock, which agrees to some tens of nanoseconds: less than the time to
-- enter and leave the kernel.
--   syscall_op      op_id of the system call, as in all layers of the kernel
--   app_op          op_id of the innermost call of layer app in progress at its begin; NULL: none
--   app_event, app_call   event and function of that call; NULL: none
--   place           'inside': it ended within that call; 'cut': it did not, so the end of one of the two is
--                   wrong; 'outside': no recorded call was in progress. Then the dynamic linker made it, or the
--                   program without the C library, or a function that is not hooked, or a call that was lost.
CREATE VIEW app_calls_of_syscalls AS
SELECT syscall_op, app_op, app_event, app_call, place FROM selected_app_calls;

-- One row per call into the C library, with the system calls that it made.
--   app_op, call, duration_ns   the call
--   syscalls     number of system calls in it
--   kernel_ns    time in these; the rest is outside the kernel: the library's work, waits for its locks or for a
--                CPU, and the cost of tracing
CREATE VIEW library_times AS
WITH
  -- One row per number: in a forged trace, thousands of calls may share one.
  pairs AS (SELECT DISTINCT app_op, syscall_op FROM app_calls_of_syscalls WHERE place = 'inside'),
  syscalls AS (SELECT op_id, count(*) AS syscalls, total(duration_ns) AS kernel_ns FROM events WHERE layer = layer_at('kernel') GROUP BY op_id),
  inside AS (
    SELECT p.app_op AS app_op, CAST(total(s.syscalls) AS BIGINT) AS syscalls, total(s.kernel_ns) AS kernel_ns
    FROM pairs AS p JOIN syscalls AS s ON p.syscall_op = s.op_id
    GROUP BY p.app_op
  )
SELECT e.op_id AS app_op, e.call AS call, e.duration_ns AS duration_ns, coalesce(i.syscalls, 0) AS syscalls,
       least(coalesce(i.kernel_ns, 0), e.duration_ns) AS kernel_ns
FROM events AS e LEFT JOIN inside AS i ON e.op_id = i.app_op
WHERE e.layer = layer_at('library') AND e.duration_ns IS NOT NULL;

-- One row per function of the C library, with its own time and the time of its system calls.
--   call         the function
--   calls, total_ns   number of calls, and the sum of their durations
--   syscalls     number of system calls in them
--   kernel_ns    time in these
--   library_ns   the rest: formatting, copying, waiting for a lock of the library or for a CPU, and the cost
--                of tracing, which is most of it for plain wrappers such as pread
CREATE VIEW library_calls AS
SELECT call, count(*) AS calls, total(duration_ns) AS total_ns, total(syscalls) AS syscalls, total(kernel_ns) AS kernel_ns,
       total(minus(duration_ns, kernel_ns)) AS library_ns
FROM library_times GROUP BY call;

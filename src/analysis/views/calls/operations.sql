-- One row per span of any layer, with names instead of keys.
--   layer, event    names of the schema
--   class           class of the operation: 'read', 'write', 'open', ...
--   call            the function or system call; NULL: none
--   op_id           the operation that it belongs to. Spans of the kernel's layers share the operation of
--                   their system call. A call into the C library has an operation of its own:
--                   app_calls_of_syscalls has its system calls
--   parent_op       for the kernel's layers, the operation in which, or for which, that one began;
--                   0: none
--   pid, tid        the task that was running
--   ts_ns           its begin (CLOCK_MONOTONIC)
--   duration_ns     its duration
--   bytes           bytes moved; NULL: no data moves
--   error           0, a negative errno, or unfinished; errno_name(error) gives the name
--   file            key of files, 0: none or unknown
--   path            the file's name at that time (for an asynchronous operation, at its end), followed by '
--                   (deleted)' if it was removed; else the path in the call, else NULL
CREATE VIEW operations AS
SELECT e.layer AS layer, e.event AS event, e.class AS class, e.call AS call, e.op_id AS op_id, e.parent_op AS parent_op,
       e.pid AS pid, e.tid AS tid, e.ts_ns AS ts_ns, e.duration_ns AS duration_ns,
       e.bytes AS bytes, e.error AS error, e.file AS file, coalesce(g.given_path, shown_path_at(e.file, named_at(e.layer, e.ts_ns, e.duration_ns)), s.text) AS path
FROM events AS e
  LEFT JOIN given_paths AS g ON e.file = g.file
  LEFT JOIN strings AS s ON e.path = s.string
WHERE e.duration_ns IS NOT NULL;

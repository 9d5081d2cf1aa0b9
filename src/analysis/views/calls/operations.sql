-- All spans of all layers in one shape, with names instead of keys.
--   layer, event    names of the schema
--   class           what it does: 'read', 'write', 'open', ...
--   call            the function or system call; NULL where the layer has none
--   op_id           the operation under which it happened. Spans of the kernel's layers share that of their system call; a
--                   call into the C library has one of its own: app_calls_of_syscalls says which system calls it made
--   parent_op       of the kernel's layers, the operation inside which, or for which, that one began; 0: none
--   pid, tid        the task that was running
--   ts_ns           when it began (CLOCK_MONOTONIC)
--   duration_ns     how long it took
--   bytes           bytes moved; NULL where no data moves
--   error           0 or a negative errno; errno_name(error) gives its name
--   file            key of files, 0: none or not known
--   path            the name that it had then (of an asynchronous operation: when it ended), with ' (deleted)' if it was removed;
--                   else the path that the call gave, else NULL
CREATE VIEW operations AS
SELECT e.layer AS layer, e.event AS event, e.class AS class, e.call AS call, e.op_id AS op_id, e.parent_op AS parent_op,
       e.pid AS pid, e.tid AS tid, e.ts_ns AS ts_ns, e.duration_ns AS duration_ns,
       e.bytes AS bytes, e.error AS error, e.file AS file, coalesce(g.given_path, shown_path_at(e.file, named_at(e.layer, e.ts_ns, e.duration_ns)), s.text) AS path
FROM events AS e
  LEFT JOIN given_paths AS g ON e.file = g.file
  LEFT JOIN strings AS s ON e.path = s.string
WHERE e.duration_ns IS NOT NULL;

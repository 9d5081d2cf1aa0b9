-- Changes of names of files: one row per name that appeared or disappeared. A rename has two rows.
--   ts_ns, pid        begin of the call, and its process
--   kind              'create': a file, a directory, or a further name; 'delete'; 'move_from', 'move_to': the old and
--                     the new name of a rename
--   file              key of files
--   path              the name; NULL: the directory is unknown
-- All but files created by an open need the events vfs_mkdir, vfs_link, vfs_unlink and vfs_rename, which are
-- recorded on request. Creation by an open is as in file_lifetimes, which does not
-- look at vfs_open.
CREATE VIEW file_events AS
WITH
  creating AS (SELECT v.mask AS mask, v.number AS number FROM value_names AS v WHERE v.value_table = 'open' AND v.name IN ('O_CREAT', 'O_TMPFILE')),
  opens AS (
    SELECT file, pid, ts_ns, CAST(flags AS UBIGINT) AS flags FROM syscall_open WHERE result >= 0
    UNION ALL SELECT file, pid, ts_ns, CAST(flags AS UBIGINT) AS flags FROM app_open WHERE result >= 0
    UNION ALL SELECT file, pid, ts_ns, CAST(flags AS UBIGINT) AS flags FROM vfs_open WHERE result >= 0
    UNION ALL SELECT file, pid, ts_ns, CAST(open_flags AS UBIGINT) AS flags FROM async_path WHERE result >= 0
  ),
  firsts AS (SELECT file, min(ts_ns) AS first_ns FROM all_events WHERE file <> 0 GROUP BY file),
  changes AS (
    SELECT min(o.ts_ns) AS ts_ns, arg_min(o.pid, o.ts_ns) AS pid, 'create' AS kind, o.file AS file, CAST(0 AS UINTEGER) AS directory, CAST(0 AS UINTEGER) AS name
    FROM opens AS o JOIN firsts AS f ON o.file = f.file
    WHERE o.ts_ns <= f.first_ns AND EXISTS (SELECT 1 FROM creating AS c WHERE bitAnd(o.flags, c.mask) = c.number)
    GROUP BY o.file
    UNION ALL SELECT ts_ns, pid, 'create' AS kind, file, directory, name FROM vfs_mkdir WHERE result >= 0
    UNION ALL SELECT ts_ns, pid, 'create' AS kind, file, directory, name FROM vfs_link WHERE result >= 0
    UNION ALL SELECT ts_ns, pid, 'delete' AS kind, file, directory, name FROM vfs_unlink WHERE result >= 0
    UNION ALL SELECT ts_ns, pid, 'move_from' AS kind, file, directory, name FROM vfs_rename WHERE result >= 0
    UNION ALL SELECT ts_ns, pid, 'move_to' AS kind, file, new_directory AS directory, new_name AS name FROM vfs_rename WHERE result >= 0
  )
SELECT c.ts_ns AS ts_ns, c.pid AS pid, c.kind AS kind, c.file AS file,
       CASE WHEN c.directory = 0 THEN nullif(path_at(c.file, c.ts_ns), '')
            ELSE path_in(nullif(path_at(c.directory, c.ts_ns), ''), s.text) END AS path
FROM changes AS c LEFT JOIN strings AS s ON c.name = s.string;

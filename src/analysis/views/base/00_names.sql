-- One row per known start directory of relative paths: a descriptor that an open returned, or the
-- current directory of a process. The current directory is followed through chdir and fchdir, and
-- from a process to those that it starts. Where it is not known so, it is inferred from the first
-- open of a relative path with a known file. If chdir is not recorded, each open that shows another
-- directory counts; before the first one, the process may have been elsewhere.
--   pid, fd          the process, and the descriptor
--   since_ns         valid from this time on
--   directory        its path at first; NULL: from here on the descriptor has another meaning, or an unknown
--                    one
--   directory_file   key of files, which gives the path at any time: place_of(directory_file, directory,
--                    ts_ns); 0: unknown
--   is_inferred      1: from the path of an opened file, which may have other names
CREATE VIEW directories AS
WITH
  opens AS (
    SELECT o.pid AS pid, o.ts_ns AS ts_ns, TRY_CAST(o.result AS INTEGER) AS made_fd, f.file AS file, f.path AS path,
           choice_text('file_type', f.mode) = 'directory' AS is_directory
    FROM (SELECT pid, ts_ns, result, file FROM syscall_open
          UNION ALL
          SELECT pid, ts_ns, result, file FROM app_open
          UNION ALL
          SELECT pid, ts_ns, result, file FROM async_path) AS o
      JOIN files AS f ON o.file = f.file
    WHERE o.result >= 0
  ),
  opened AS (SELECT pid, made_fd AS fd, ts_ns AS since_ns, path AS directory, file AS directory_file FROM opens WHERE is_directory),
  numbers AS (SELECT DISTINCT pid, fd FROM opened),
  -- Other changes to such a descriptor.
  changes AS (
    SELECT pid, made_fd AS fd, ts_ns AS since_ns FROM opens WHERE NOT is_directory
    UNION ALL
    SELECT pid, fd, ts_ns AS since_ns FROM syscall_close WHERE result >= 0
    UNION ALL
    SELECT pid, fd, ts_ns AS since_ns FROM app_close WHERE result >= 0
    UNION ALL
    SELECT pid, fd, ts_ns AS since_ns FROM async_operation WHERE result >= 0 AND call = 'IORING_OP_CLOSE'
    UNION ALL
    SELECT pid, TRY_CAST(result AS INTEGER) AS fd, plus(ts_ns, duration_ns) AS since_ns FROM syscall_dup WHERE result >= 0
    UNION ALL
    SELECT pid, TRY_CAST(result AS INTEGER) AS fd, plus(ts_ns, duration_ns) AS since_ns FROM syscall_fcntl
    WHERE result >= 0 AND command LIKE 'F_DUPFD%'
    UNION ALL
    SELECT n.pid AS pid, n.fd AS fd, c.ts_ns AS since_ns
    FROM syscall_close_range AS c JOIN numbers AS n ON c.pid = n.pid AND n.fd BETWEEN c."first" AND c."last"
    WHERE c.result >= 0
  )
SELECT pid, fd, since_ns, directory, directory_file, 0 AS is_inferred FROM opened
UNION ALL
SELECT c.pid AS pid, c.fd AS fd, c.since_ns AS since_ns, NULL AS directory, 0 AS directory_file, 0 AS is_inferred
FROM changes AS c JOIN numbers AS n ON c.pid = n.pid AND c.fd = n.fd
UNION ALL
SELECT pid, at_fdcwd() AS fd, since_ns, directory, directory_file, is_inferred FROM found_directories();

-- One row per call that names a path but has no file, in the layers of asked_layers. The table
-- path_calls has the selected rows.
--   layer, class, call, pid, ts_ns, error, duration_ns, bytes   as in events
--   string, to_string   keys of the paths as given; to_string: the new path of a rename, else 0
--   path, to_path       absolute if the start directory is known, else as given
CREATE VIEW all_path_calls AS
WITH
  calls AS (
    SELECT layer, class, call, pid, ts_ns, error, duration_ns, bytes, path AS string, to_path AS to_string,
           CASE at_fd WHEN -1 THEN at_fdcwd() ELSE at_fd END AS at_fd,
           CASE to_at_fd WHEN -1 THEN at_fdcwd() ELSE to_at_fd END AS to_at_fd
    FROM all_events
    WHERE path <> 0 AND file = 0 AND is_asked(layer) AND duration_ns IS NOT NULL
  ),
  -- Join texts last: the joins by time would copy them for each row.
  placed AS (
    SELECT c.*, d.directory_file AS directory_file, d.directory AS directory,
           e.directory_file AS to_directory_file, e.directory AS to_directory
    FROM calls AS c
      ASOF LEFT JOIN directories AS d ON c.pid = d.pid AND c.at_fd = d.fd AND c.ts_ns >= d.since_ns
      ASOF LEFT JOIN directories AS e ON c.pid = e.pid AND c.to_at_fd = e.fd AND c.ts_ns >= e.since_ns
  )
SELECT c.layer AS layer, c.class AS class, c.call AS call, c.pid AS pid, c.ts_ns AS ts_ns, c.error AS error,
       c.duration_ns AS duration_ns, c.bytes AS bytes, c.string AS string, c.to_string AS to_string,
       path_in(place_of(c.directory_file, c.directory, c.ts_ns), s.text) AS path,
       path_in(place_of(c.to_directory_file, c.to_directory, c.ts_ns), t.text) AS to_path
FROM placed AS c
  LEFT JOIN strings AS s ON c.string = s.string
  LEFT JOIN strings AS t ON c.to_string = t.string;

-- One row per file that was seen without a name, such as one opened after a chroot that hides
-- /proc: the path in its first open.
--   file, given_path   key of files, and that path
CREATE VIEW given_paths AS
SELECT e.file AS file, tidy_path(argMin(s.text, e.ts_ns)) AS given_path
FROM all_events AS e JOIN strings AS s ON e.path = s.string
WHERE e.file IN (SELECT file FROM files WHERE path = '') AND e.path <> 0
GROUP BY e.file;

-- The paths of files over time: a path is valid between two renames in the trace, including renames
-- of a directory above the file. Each file has one path at any time; the first row begins at 0.
--   file                 key of files
--   since_ns, until_ns   valid from this time on, until before that; 0, NULL: from the beginning, to the end
--   path                 the path; with several names (hard links), the most recently opened one that still
--                        exists
--   is_removed           1: the file has no name any more, and this was its last
--   shown_path           the path, followed by ' (deleted)' if it was removed
CREATE VIEW file_paths AS
SELECT p.file AS file, p.since_ns AS since_ns, p.until_ns AS until_ns, coalesce(g.given_path, p.path, '') AS path,
       p.is_removed AS is_removed, coalesce(g.given_path, p.shown_path, '') AS shown_path
FROM found_file_paths() AS p LEFT JOIN given_paths AS g ON p.file = g.file;

-- One row per file with several names over time.
--   file         key of files
CREATE VIEW renamed_files AS
SELECT file FROM file_paths GROUP BY file HAVING count(DISTINCT path) > 1;

-- One row per file, with its last name.
--   file         key of files
--   path         the last name; followed by ' (deleted)' if the file had none in the whole recording, since
--                another file may have this name
--   first_path   the name at first sight
--   is_removed   1: that name no longer exists, and the file has no other
CREATE VIEW file_names AS
SELECT l.file AS file, CASE WHEN f.is_removed = 1 AND l.is_removed = 1 THEN l.shown_path ELSE l.path END AS path, f.path AS first_path, l.is_removed AS is_removed
FROM file_paths AS l JOIN file_paths AS f ON l.file = f.file
WHERE l.until_ns IS NULL AND f.since_ns = 0;

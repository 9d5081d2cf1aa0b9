-- One row per known start directory of relative paths: a descriptor that an open returned, or the
-- current directory of a process. The current directory is known from an open of a relative path
-- with a known file, or from a chdir to an absolute path. A process without such a call starts in
-- its parent's directory. If chdir is not recorded, a current directory is known only from the
-- first call that shows it; before that, the process may have been elsewhere.
--   pid, fd          the process, and the descriptor
--   since_ns         valid from this time on
--   directory        its path at first; NULL: from here on the descriptor has another meaning, or an unknown
--                    one
--   directory_file   key of files, which gives the path at any time: place_of(directory_file, directory,
--                    ts_ns); 0: unknown
CREATE VIEW directories AS
WITH
  opens AS (
    SELECT o.pid AS pid, o.ts_ns AS ts_ns, TRY_CAST(o.result AS INTEGER) AS made_fd, o.fd AS fd, f.file AS file, f.path AS path,
           bitAnd(f.mode, b.mask) = b.number AS is_directory, tidy_path(s.text) AS given
    FROM (SELECT pid, ts_ns, result, fd, file, path FROM syscall_open
          UNION ALL
          SELECT pid, ts_ns, result, fd, file, path FROM app_open
          UNION ALL
          SELECT pid, ts_ns, result, fd, file, path FROM async_path) AS o
      JOIN files AS f ON o.file = f.file
      JOIN strings AS s ON o.path = s.string
      CROSS JOIN (SELECT mask, number FROM value_names WHERE value_table = 'file_type' AND name = 'directory') AS b
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
  ),
  places AS (
    SELECT pid, ts_ns, 0 AS is_moved, left(path, length(path) - length(given) - 1) AS directory, 0 AS directory_file
    FROM opens
    WHERE fd = at_fdcwd() AND given NOT LIKE '/%' AND path LIKE '/%' AND right(path, length(given) + 1) = '/' || given
    UNION ALL
    SELECT c.pid AS pid, plus(c.ts_ns, c.duration_ns) AS ts_ns, 1 AS is_moved,
           CASE WHEN f.path LIKE '/%' THEN f.path WHEN s.text LIKE '/%' THEN tidy_path(s.text) END AS directory,
           coalesce(f.file, 0) AS directory_file
    FROM syscall_chdir AS c LEFT JOIN files AS f ON c.file = f.file LEFT JOIN strings AS s ON c.path = s.string
    WHERE c.result >= 0 AND c.call <> 'chroot'
  ),
  recorded AS (SELECT count(*) > 0 AS has_moves FROM hooks WHERE event = 'syscall_chdir' AND hook <> ''),
  working AS (
    SELECT pid, ts_ns, is_moved, directory, directory_file, row_number() OVER in_time AS place, lag(directory) OVER in_time AS before
    FROM places
    WINDOW in_time AS (PARTITION BY pid ORDER BY ts_ns)
  )
SELECT pid, fd, since_ns, directory, directory_file FROM opened
UNION ALL
SELECT c.pid AS pid, c.fd AS fd, c.since_ns AS since_ns, NULL AS directory, 0 AS directory_file
FROM changes AS c JOIN numbers AS n ON c.pid = n.pid AND c.fd = n.fd
UNION ALL
SELECT pid, at_fdcwd() AS fd, CASE WHEN has_moves AND place = 1 AND is_moved = 0 THEN 0 ELSE ts_ns END AS since_ns, directory, directory_file
FROM working CROSS JOIN recorded
WHERE place = 1 OR is_moved = 1 OR before IS DISTINCT FROM directory
UNION ALL
-- A process without an open starts in its parent's directory.
SELECT p.pid AS pid, at_fdcwd() AS fd, p.since_ns AS since_ns, w.directory AS directory, w.directory_file AS directory_file
FROM processes AS p ASOF JOIN working AS w ON p.parent_pid = w.pid AND p.since_ns >= w.ts_ns
WHERE p.pid NOT IN (SELECT pid FROM working);

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
    WHERE path <> 0 AND file = 0 AND layer IN (SELECT asked_layer FROM asked_layers) AND duration_ns IS NOT NULL
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

-- One row per file, with its last name.
--   file         key of files
--   path         the last name
--   first_path   the name at first sight
CREATE VIEW file_names AS
SELECT l.file AS file, l.path AS path, f.path AS first_path
FROM file_paths AS l JOIN file_paths AS f ON l.file = f.file
WHERE l.until_ns IS NULL AND f.since_ns = 0;

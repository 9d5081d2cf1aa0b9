-- id: F24
-- title: many small files
-- shown: files
-- severity: warning
-- needs: calls
-- limit: files = 1000; fewer small files are no finding
-- limit: bytes = 65536; a file with more bytes read and written is not small
-- limit: share = 0.05; of the busiest time, the part that opening and closing must take
-- rows: calls >= $files
-- sentence: {program} opened {files} files such as {subject} for {mean_bytes} each; opening and closing them took {opening_ns} of {took_ns}.
-- advice: Put them into one file (tar, SQLite), or open several at once.
WITH
  files AS (
    SELECT program, pid, file, any_value(path) AS path, total(bytes) AS bytes, count(*) FILTER (opens(class) AND error >= 0) AS opens
    FROM file_calls
    WHERE file <> 0 AND (opens(class) OR closes(class) OR moves_bytes(class))
    GROUP BY program, pid, file
  ),
  small AS (SELECT * FROM files WHERE opens > 0 AND bytes BETWEEN 1 AND $bytes),
  sums AS (SELECT program, pid, count(*) AS files, mean(bytes) AS mean_bytes FROM small GROUP BY program, pid HAVING count(*) >= $files),
  -- The kind of name that most of them have.
  kinds AS (SELECT pid, shown_files(path) AS path, count(*) AS files FROM small GROUP BY pid, folded_path(path)),
  most AS (SELECT pid, arg_max(path, files) AS path FROM kinds GROUP BY pid),
  times AS (
    SELECT c.program AS program, c.pid AS pid, union_length(c.ts_ns, c.until_ns) AS took_ns,
           union_length(CASE WHEN (opens(c.class) OR closes(c.class)) THEN c.ts_ns END, c.until_ns) AS opening_ns,
           busiest_share(CASE WHEN (opens(c.class) OR closes(c.class)) THEN c.ts_ns END, c.until_ns, w.window_ns) AS busiest_share,
           arg_max(c.op_id, c.duration_ns) AS op_id
    FROM file_calls AS c SEMI JOIN small AS s ON c.pid = s.pid AND c.file = s.file CROSS JOIN busy_window AS w
    GROUP BY c.program, c.pid
  )
SELECT s.program AS program, coalesce(m.path, s.program) AS subject, s.files AS files, s.mean_bytes AS mean_bytes, t.took_ns AS took_ns, t.opening_ns AS opening_ns,
       t.busiest_share AS busiest_share, t.opening_ns AS could_save_ns, t.op_id AS op_id
FROM sums AS s JOIN times AS t ON s.pid = t.pid LEFT JOIN most AS m ON s.pid = m.pid
WHERE t.busiest_share >= $share

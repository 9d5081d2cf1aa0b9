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
    SELECT program, pid, file, min(path) AS path, total(bytes) AS bytes, count(*) FILTER (opens(class) AND error >= 0) AS opens
    FROM file_calls
    WHERE file <> 0 AND (opens(class) OR closes(class) OR moves_bytes(class))
    GROUP BY program, pid, file
  ),
  small AS (SELECT * FROM files WHERE opens > 0 AND bytes BETWEEN 1 AND $bytes),
  sums AS (SELECT program, pid, count(*) AS files, min(path) AS subject, mean(bytes) AS mean_bytes FROM small GROUP BY program, pid HAVING count(*) >= $files),
  times AS (
    SELECT c.program AS program, c.pid AS pid, union_length(c.ts_ns, c.until_ns) AS took_ns,
           union_length(CASE WHEN (opens(c.class) OR closes(c.class)) THEN c.ts_ns END, c.until_ns) AS opening_ns,
           busiest_share(CASE WHEN (opens(c.class) OR closes(c.class)) THEN c.ts_ns END, c.until_ns, w.window_ns) AS busiest_share,
           arg_max(c.op_id, c.duration_ns) AS op_id
    FROM file_calls AS c SEMI JOIN small AS s ON c.pid = s.pid AND c.file = s.file CROSS JOIN busy_window AS w
    GROUP BY c.program, c.pid
  )
SELECT s.program AS program, s.subject AS subject, s.files AS files, s.mean_bytes AS mean_bytes, t.took_ns AS took_ns, t.opening_ns AS opening_ns,
       t.busiest_share AS busiest_share, t.opening_ns AS could_save_ns, t.op_id AS op_id
FROM sums AS s JOIN times AS t ON s.pid = t.pid
WHERE t.busiest_share >= $share

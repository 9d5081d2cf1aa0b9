-- Errors by which a call on a file leaves data behind: one row per error.
--   refused_error     its name
--   refused_meaning   what it means
CREATE TABLE refusals (refused_error VARCHAR, refused_meaning VARCHAR);
INSERT INTO refusals VALUES
  ('ENOSPC', 'no space left'),
  ('EDQUOT', 'the quota is used up'),
  ('EIO', 'an error of the device'),
  ('EROFS', 'the file system is read-only'),
  ('EFBIG', 'the file would be too large'),
  ('ENODEV', 'the device is gone'),
  ('ESTALE', 'the server no longer has the file'),
  ('EUCLEAN', 'the file system is damaged'),
  ('EINVAL', 'invalid argument; direct I/O needs aligned memory, position and length');

-- Calls on files that failed for lack of space, or by an error of the device, so that data
-- was not moved or is not safe: one row per program, call, error and file.
--   program      its name
--   call         the function or system call
--   error        name of the error: 'ENOSPC'
--   meaning      what it means
--   path         the file, or the kind of files with numbered names; NULL: unknown
--   calls        number of failed calls
--   first_ns     begin of the first of them (CLOCK_MONOTONIC)
--   total_ns     time with at least one in progress
--   op_id        the longest of them
CREATE VIEW refused_io AS
WITH
  failed AS (
    SELECT c.*, coalesce(c.call, c.class) AS name, errno_name(c.error) AS error_name
    FROM file_calls AS c
    WHERE is_error(c.error)
  )
SELECT program, name AS call, error_name AS error, any_value(refused_meaning) AS meaning, shown_files(path) AS path, count(*) AS calls,
       min(ts_ns) AS first_ns, union_length(ts_ns, until_ns) AS total_ns, arg_max(op_id, duration_ns) AS op_id
FROM failed JOIN refusals ON error_name = refused_error
WHERE error_name <> 'EINVAL' OR ((reads(class) OR writes(class)) AND NOT copies(class))
GROUP BY program, name, error_name, folded_path(path);

-- Programs by their calls on files and by what they caused at devices: one row per program.
--   program             its name
--   processes           number of its processes
--   calls, errors       its calls on files, and the failed ones
--   busy_ns             time with at least one of them in progress
--   read, written       bytes of its calls
--   dev_read, dev_write   bytes that devices moved because of it without an error, whichever task submitted
--                       them
CREATE VIEW program_io AS
WITH
  calls AS (
    SELECT program, count(DISTINCT pid) AS processes, count(*) AS calls, total(CASE WHEN is_error(error) THEN 1 ELSE 0 END) AS errors,
           union_length(ts_ns, until_ns) AS busy_ns, total(CASE WHEN reads(class) THEN bytes ELSE 0 END) AS read,
           total(CASE WHEN writes(class) THEN bytes ELSE 0 END) AS written
    FROM file_calls
    GROUP BY program
  ),
  devices AS (
    SELECT coalesce(comm, 'pid ' || pid) AS program, total(CASE WHEN direction = 'read' THEN bytes - failed_bytes ELSE 0 END) AS dev_read,
           total(CASE WHEN direction = 'write' THEN bytes - failed_bytes ELSE 0 END) AS dev_write
    FROM device_causes
    WHERE pid <> 0
    GROUP BY program
  )
SELECT coalesce(c.program, d.program) AS program, coalesce(c.processes, 0) AS processes, coalesce(c.calls, 0) AS calls, coalesce(c.errors, 0) AS errors,
       coalesce(c.busy_ns, 0) AS busy_ns, coalesce(c.read, 0) AS read, coalesce(c.written, 0) AS written, coalesce(d.dev_read, 0) AS dev_read,
       coalesce(d.dev_write, 0) AS dev_write
FROM calls AS c FULL JOIN devices AS d ON c.program = d.program;

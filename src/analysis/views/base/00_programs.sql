-- One row per process, with the program that it ran last.
--   program_pid     the process
--   comm, command   name and command line
--   cgroup          the control group in which it ran that program; NULL: unknown
--   container       the container of that control group, by its full id or its name; NULL: none
--   rank, job       its rank in a parallel job, and the id of the job, as in processes; NULL: none
CREATE VIEW programs AS
SELECT pid AS program_pid, argMax(comm, since_ns) AS comm, argMax(command, since_ns) AS command,
       argMax(nullif(cgroup, ''), since_ns) AS cgroup, nullif(argMax(container, since_ns), '') AS container,
       TRY_CAST(argMax(nullif(rank, ''), since_ns) AS UINTEGER) AS rank, argMax(nullif(job, ''), since_ns) AS job
FROM processes
GROUP BY pid;

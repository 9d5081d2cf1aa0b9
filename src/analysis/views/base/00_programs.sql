-- One row per process, with the program that it ran last.
--   program_pid     the process
--   comm, command   name and command line
--   cgroup          the control group in which it ran that program; NULL: unknown
--   container       the container of that control group, by its full id or its name; NULL: none
CREATE VIEW programs AS
SELECT pid AS program_pid, argMax(comm, since_ns) AS comm, argMax(command, since_ns) AS command,
       argMax(nullif(cgroup, ''), since_ns) AS cgroup, nullif(argMax(container, since_ns), '') AS container
FROM processes
GROUP BY pid;

-- Processes by the program that they ran last.
--   program_pid     the process
--   comm, command   name and command line
--   cgroup          the control group in which it ran that program; NULL: not known
--   container       the container that this group is of, by its whole id or its name; NULL: of none
CREATE VIEW programs AS
SELECT pid AS program_pid, argMax(comm, since_ns) AS comm, argMax(command, since_ns) AS command,
       argMax(nullif(cgroup, ''), since_ns) AS cgroup, nullif(argMax(container, since_ns), '') AS container
FROM processes
GROUP BY pid;

-- Processes by the program that they ran last.
--   program_pid     the process
--   comm, command   name and command line
--   cgroup          the control group in which it ran that program; NULL: not known
CREATE VIEW programs AS
SELECT pid AS program_pid, argMax(comm, since_ns) AS comm, argMax(command, since_ns) AS command,
       argMax(nullif(cgroup, ''), since_ns) AS cgroup
FROM processes
GROUP BY pid;

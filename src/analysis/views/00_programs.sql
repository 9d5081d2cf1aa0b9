-- Processes by the program that they ran last.
--   program_pid     the process
--   comm, command   name and command line
CREATE VIEW programs AS
SELECT pid AS program_pid, argMax(comm, since_ns) AS comm, argMax(command, since_ns) AS command
FROM processes
GROUP BY pid;

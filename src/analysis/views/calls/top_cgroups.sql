-- Control groups (containers, services) by the I/O that their processes requested: one row per
-- control group.
--   cgroup                      as in /proc/PID/cgroup; '(unknown)': bytes of no known process; NULL: unknown
--   processes                   number of its processes with I/O
--   operations, errors, bytes_read, bytes_written, syncs, total_ns   as in top_processes
--   device_bytes_read, device_bytes_written   bytes that devices moved on its behalf, whichever process
--                                             submitted them; 0 also if the block layer was not recorded
--   container                   its container, by its full id or its name; NULL: none
CREATE VIEW top_cgroups AS
WITH
  asked AS (
    SELECT CASE p.pid WHEN 0 THEN '(unknown)' ELSE g.cgroup END AS cgroup, any_value(g.container) AS container, count(*) AS processes,
           total(p.operations) AS operations, total(p.errors) AS errors, total(p.bytes_read) AS bytes_read,
           total(p.bytes_written) AS bytes_written, total(p.syncs) AS syncs, total(p.total_ns) AS total_ns
    FROM top_processes AS p LEFT JOIN programs AS g ON p.pid = g.program_pid
    GROUP BY ALL
  ),
  moved AS (
    SELECT CASE c.pid WHEN 0 THEN '(unknown)' ELSE g.cgroup END AS cgroup, any_value(g.container) AS container,
           total(CASE c.direction WHEN 'read' THEN c.bytes ELSE 0 END) AS device_bytes_read,
           total(CASE c.direction WHEN 'write' THEN c.bytes ELSE 0 END) AS device_bytes_written
    FROM device_causes AS c LEFT JOIN programs AS g ON c.pid = g.program_pid
    GROUP BY ALL
  )
SELECT coalesce(a.cgroup, m.cgroup) AS cgroup, coalesce(a.processes, 0) AS processes, coalesce(a.operations, 0) AS operations,
       coalesce(a.errors, 0) AS errors, coalesce(a.bytes_read, 0) AS bytes_read, coalesce(a.bytes_written, 0) AS bytes_written,
       coalesce(a.syncs, 0) AS syncs, a.total_ns AS total_ns, coalesce(m.device_bytes_read, 0) AS device_bytes_read,
       coalesce(m.device_bytes_written, 0) AS device_bytes_written, coalesce(a.container, m.container) AS container
FROM asked AS a FULL JOIN moved AS m ON a.cgroup IS NOT DISTINCT FROM m.cgroup;

-- Ranks of parallel jobs by the I/O of their processes: one row per job and rank. A rank is known from the
-- environment of a program (processes).
--   job, rank         id of the job, NULL: unknown; and the rank
--   processes, pid    number of its processes with calls on files, and the one with the most time in them
--   comm              its program
--   calls, errors     calls on files, and the failed ones
--   busy_ns           time with at least one of them in progress
--   total_ns          sum of their durations
--   bytes_read, bytes_written   bytes that they moved
--   device_bytes_read, device_bytes_written   bytes that devices moved because of its processes; 0 also if the
--                     block layer was not recorded
--   slowdown          busy_ns by the median of the job's ranks; NULL: that is 0
--   more_ns           busy_ns less that median; negative: less
--   more_read, more_written   bytes_read and bytes_written less their medians; negative: less
--   ranks             number of ranks of the job with calls on files
CREATE VIEW ranks AS
WITH
  ranked AS (SELECT program_pid AS pid, comm, rank, job FROM programs WHERE rank IS NOT NULL),
  calls AS (
    SELECT r.job AS job, r.rank AS rank, c.pid AS pid, r.comm AS comm, c.ts_ns AS ts_ns, c.until_ns AS until_ns, c.duration_ns AS duration_ns,
           c.error AS error, CASE WHEN reads(c.class) THEN c.bytes ELSE 0 END AS bytes_read, CASE WHEN writes(c.class) THEN c.bytes ELSE 0 END AS bytes_written
    FROM file_calls AS c JOIN ranked AS r ON c.pid = r.pid
  ),
  times AS (SELECT job, rank, pid, any_value(comm) AS comm, total(duration_ns) AS ns FROM calls GROUP BY job, rank, pid),
  busiest AS (SELECT job, rank, count(*) AS processes, arg_max(pid, ns) AS pid, arg_max(comm, ns) AS comm FROM times GROUP BY job, rank),
  sums AS (
    SELECT job, rank, count(*) AS calls, total(CASE WHEN is_error(error) THEN 1 ELSE 0 END) AS errors, union_length(ts_ns, until_ns) AS busy_ns,
           total(duration_ns) AS total_ns, total(bytes_read) AS bytes_read, total(bytes_written) AS bytes_written
    FROM calls
    GROUP BY job, rank
  ),
  medians AS (
    SELECT job, count(*) AS ranks, quantile_disc(busy_ns, 0.5) AS busy_ns, quantile_disc(bytes_read, 0.5) AS bytes_read,
           quantile_disc(bytes_written, 0.5) AS bytes_written
    FROM sums
    GROUP BY job
  ),
  moved AS (
    SELECT r.job AS job, r.rank AS rank, total(CASE c.direction WHEN 'read' THEN c.bytes ELSE 0 END) AS device_bytes_read,
           total(CASE c.direction WHEN 'write' THEN c.bytes ELSE 0 END) AS device_bytes_written
    FROM device_causes AS c JOIN ranked AS r ON c.pid = r.pid
    GROUP BY r.job, r.rank
  )
SELECT s.job AS job, s.rank AS rank, b.processes AS processes, b.pid AS pid, b.comm AS comm, s.calls AS calls, s.errors AS errors, s.busy_ns AS busy_ns,
       s.total_ns AS total_ns, s.bytes_read AS bytes_read, s.bytes_written AS bytes_written, coalesce(v.device_bytes_read, 0) AS device_bytes_read,
       coalesce(v.device_bytes_written, 0) AS device_bytes_written, s.busy_ns / nullif(m.busy_ns, 0) AS slowdown,
       CAST(greatest(least(CAST(s.busy_ns AS HUGEINT) - m.busy_ns, 9223372036854775807), -9223372036854775807) AS BIGINT) AS more_ns,
       CAST(greatest(CAST(s.bytes_read AS HUGEINT) - m.bytes_read, -9223372036854775807) AS BIGINT) AS more_read,
       CAST(greatest(CAST(s.bytes_written AS HUGEINT) - m.bytes_written, -9223372036854775807) AS BIGINT) AS more_written, m.ranks AS ranks
FROM sums AS s
  JOIN busiest AS b ON s.job IS NOT DISTINCT FROM b.job AND s.rank = b.rank
  JOIN medians AS m ON s.job IS NOT DISTINCT FROM m.job
  LEFT JOIN moved AS v ON s.job IS NOT DISTINCT FROM v.job AND s.rank = v.rank;

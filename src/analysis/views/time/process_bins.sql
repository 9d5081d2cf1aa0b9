-- Calls on files over time, by process: one row per process and bin of time, of the 40 processes with the
-- largest total time. Calls are those of file_calls.
--   pid, program   the process, and its program as in file_calls
--   bin, calls, bytes_read, bytes_written, total_ns   as in file_bins
CREATE VIEW process_bins AS
WITH
  calls AS MATERIALIZED (
    SELECT c.pid AS pid, c.program AS program, c.class AS class, c.bytes AS bytes, c.duration_ns AS duration_ns,
           CAST(least(quotient(minus(greatest(c.ts_ns, r.begin_ns), r.begin_ns), g.map_bin_ns), 199) AS BIGINT) AS bin
    FROM file_calls AS c CROSS JOIN run AS r CROSS JOIN time_grid AS g
  ),
  named AS (SELECT pid FROM calls GROUP BY pid ORDER BY total(duration_ns) DESC, pid LIMIT 40)
SELECT pid, program, bin, count(*) AS calls, coalesce(total(CASE WHEN takes_bytes(class) THEN bytes END), 0) AS bytes_read,
       coalesce(total(CASE WHEN gives_bytes(class) THEN bytes END), 0) AS bytes_written, total(duration_ns) AS total_ns
FROM calls SEMI JOIN named USING (pid)
GROUP BY pid, program, bin;

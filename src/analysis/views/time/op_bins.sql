-- What each layer did when: one row per layer, operation, kind of file and bin of time. The sums over
-- all bins are those of layers.
--   layer            as in layers
--   operation        as in layers; '(others)' for all but the 12 of a layer with the largest total time, then count
--   on_files         false: on pipes, sockets, terminals, /proc and the like, and waits for others
--   bin              from 0, in steps of bin_ns (time_grid) from the begin of the run
--   operations, bytes, errors   of those that began in the bin; what began before the run counts in its first
--   in_progress_ns   their time within this bin, of all that were in progress in it; by bin_ns, their mean number
CREATE VIEW op_bins AS
WITH
  spans AS (
    SELECT e.layer, e.operation, n.file IS NULL AND NOT waits_for_others(e.class) AS on_files, e.bytes, e.error,
           minus(greatest(e.ts_ns, r.begin_ns), r.begin_ns) AS from_ns,
           minus(least(plus(e.ts_ns, coalesce(e.duration_ns, 0)), r.end_ns), r.begin_ns) AS until_ns,
           e.duration_ns AS duration_ns, g.bin_ns AS bin_ns
    FROM events AS e
      CROSS JOIN run AS r
      CROSS JOIN time_grid AS g
      LEFT JOIN files_without_device AS n ON e.file = n.file
    WHERE e.duration_ns IS NOT NULL OR lacks_spans(e.layer)
  ),
  named AS (
    SELECT layer, operation
    FROM (SELECT layer, operation, total(duration_ns) AS total_ns, count(*) AS operations FROM spans GROUP BY layer, operation)
    QUALIFY row_number() OVER (PARTITION BY layer ORDER BY total_ns DESC NULLS LAST, operations DESC, operation) <= 12
  ),
  pieces AS (
    SELECT *, unnest(range(first_bin, last_bin + 1)) AS bin
    FROM (SELECT *, CAST(least(quotient(from_ns, bin_ns), 599) AS BIGINT) AS first_bin,
                 CAST(least(quotient(minus(greatest(until_ns, from_ns + 1), 1), bin_ns), 599) AS BIGINT) AS last_bin
          FROM spans)
  )
SELECT p.layer AS layer, CASE WHEN n.operation IS NULL THEN '(others)' ELSE p.operation END AS operation, p.on_files AS on_files,
       p.bin AS bin,
       total(CASE WHEN p.bin = p.first_bin THEN 1 ELSE 0 END) AS operations,
       total(CASE WHEN p.bin = p.first_bin THEN p.bytes END) AS bytes,
       total(CASE WHEN p.bin = p.first_bin AND is_error(p.error) THEN 1 ELSE 0 END) AS errors,
       total(minus(least(p.until_ns, (p.bin + 1) * p.bin_ns), greatest(p.from_ns, p.bin * p.bin_ns))) AS in_progress_ns
FROM pieces AS p LEFT JOIN named AS n ON p.layer = n.layer AND p.operation = n.operation
GROUP BY ALL;

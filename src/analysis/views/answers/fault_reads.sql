-- What devices read for page faults on mapped files, and how long programs waited in page faults
-- outside of calls. Such time is part of no call. One row.
--   bytes        bytes read
--   device_ns    time with at least one such request at a device
--   share        device_ns by the time of the run; NULL: the run has no length
--   wait_ns      time in which at least one thread was blocked in such a fault, not only ready to run; NULL: waits
--                were not recorded
--   wait_share   wait_ns by the time of the run; NULL: the run has no length, or wait_ns is NULL
--   read_wait_ns, read_wait_share   the same of waits for pages that were read, and for servers of file systems: not of
--                swapped pages, of pages that are written, or of throttled writers
--   path         the file that devices worked longest for in these reads, if it had more than half of device_ns; else NULL
CREATE VIEW fault_reads AS
WITH
  reads AS (
    SELECT coalesce(total(bytes), 0) AS bytes, coalesce(union_length(issued_ns, completed_ns), 0) AS device_ns
    FROM links
    WHERE cause = 'mapped_read' AND completed_ns IS NOT NULL AND issued_ns IS NOT NULL
  ),
  by_file AS (
    SELECT file, union_length(issued_ns, completed_ns) AS file_ns
    FROM links
    WHERE cause = 'mapped_read' AND completed_ns IS NOT NULL AND issued_ns IS NOT NULL
    GROUP BY file
  ),
  most AS (SELECT arg_max(file, file_ns) AS file, max(file_ns) AS file_ns FROM by_file),
  in_faults AS (SELECT op_id, ts_ns, blocked_ns, reason IN ('page_read', 'server') AS is_read FROM waits WHERE parent_op = 0 AND blocked_ns > 0 AND state <> 'running' AND is_stack_of_fault(stack)),
  in_calls AS (
    SELECT op_id FROM all_events
    WHERE duration_ns IS NOT NULL AND is_asked(layer) AND op_id <> 0 AND op_id IN (SELECT op_id FROM in_faults)
  ),
  waited AS (
    SELECT CASE WHEN (SELECT count(*) > 0 FROM hooks WHERE event = 'sched_wait' AND hook <> '')
             THEN coalesce(union_length(ts_ns, plus(ts_ns, blocked_ns)), 0) END AS wait_ns,
           CASE WHEN (SELECT count(*) > 0 FROM hooks WHERE event = 'sched_wait' AND hook <> '')
             THEN coalesce(union_length(ts_ns, plus(ts_ns, blocked_ns)) FILTER (is_read), 0) END AS read_wait_ns
    FROM in_faults
    WHERE op_id NOT IN (SELECT op_id FROM in_calls)
  )
SELECT CAST(f.bytes AS BIGINT) AS bytes, f.device_ns AS device_ns, least(f.device_ns, r.duration_ns) / nullif(r.duration_ns, 0) AS share,
       w.wait_ns AS wait_ns,
       CASE WHEN w.wait_ns IS NOT NULL THEN least(w.wait_ns, r.duration_ns) / nullif(r.duration_ns, 0) END AS wait_share,
       w.read_wait_ns AS read_wait_ns,
       CASE WHEN w.read_wait_ns IS NOT NULL THEN least(w.read_wait_ns, r.duration_ns) / nullif(r.duration_ns, 0) END AS read_wait_share,
       CASE WHEN m.file_ns > f.device_ns / 2 THEN nullif(shown_path_at(m.file, 0), '') END AS path
FROM reads AS f CROSS JOIN waited AS w CROSS JOIN run AS r CROSS JOIN most AS m;

-- What devices read for page faults on mapped files. Time in faults is part of no call: this is the
-- time in which devices worked for them. One row.
--   bytes       bytes read
--   device_ns   time with at least one such request at a device
--   share       device_ns by the time of the run; NULL: the run has no length
CREATE VIEW fault_reads AS
WITH
  reads AS (
    SELECT coalesce(total(bytes), 0) AS bytes, coalesce(union_length(issued_ns, completed_ns), 0) AS device_ns
    FROM links
    WHERE cause = 'mapped_read' AND completed_ns IS NOT NULL AND issued_ns IS NOT NULL
  )
SELECT CAST(f.bytes AS BIGINT) AS bytes, f.device_ns AS device_ns, least(f.device_ns / nullif(r.duration_ns, 0), 1) AS share
FROM reads AS f CROSS JOIN run AS r;

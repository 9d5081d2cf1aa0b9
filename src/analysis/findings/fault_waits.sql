-- id: F52
-- title: a run that waits for pages of mapped files
-- shown: read_ahead
-- severity: warning
-- needs: sched, block
-- limit: share = 0.1; of the run, the part in which a program must wait in page faults
-- limit: bytes = 1048576; fewer bytes that devices read for them are no finding
-- sentence: Page faults outside of calls took {took_ns}, {share} of the run, while devices read {bytes} for them, {file_share} of it from {subject}.
-- advice: Read before the access: madvise(MADV_WILLNEED or MADV_POPULATE_READ), readahead(2) or read(). For random access, MADV_RANDOM avoids useless read-ahead.
WITH
  reads AS (
    SELECT file, total(bytes) AS bytes, arg_max(op_id, minus(completed_ns, issued_ns)) AS op_id
    FROM links
    WHERE cause = 'mapped_read' AND completed_ns IS NOT NULL AND issued_ns IS NOT NULL
    GROUP BY file
  ),
  summed AS (SELECT arg_max(file, bytes) AS file, max(bytes) AS file_bytes, total(bytes) AS bytes, arg_max(op_id, bytes) AS op_id FROM reads)
SELECT coalesce(nullif(shown_path_at(s.file, 0), ''), '(no known file)') AS subject, f.read_wait_ns AS took_ns, f.read_wait_share AS share, s.bytes AS bytes,
       s.file_bytes / nullif(s.bytes, 0) AS file_share, f.read_wait_ns AS could_save_ns, nullif(s.op_id, 0) AS op_id
FROM fault_reads AS f CROSS JOIN summed AS s
WHERE f.read_wait_share >= $share AND s.bytes >= $bytes AND (SELECT count(*) FROM fault_file) = 0 -- F39 judges faults that layer fault recorded

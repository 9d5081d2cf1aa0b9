-- id: F39
-- title: a mapped file read page by page
-- shown: read_ahead
-- severity: warning
-- needs: fault_file
-- limit: faults = 500; fewer faults that wait for a device are no finding
-- limit: share = 0.1; or of the busiest time, the part that faults must take
-- sentence: {faults} page faults of {program} on {subject} took {took_ns}; {major} of them waited for a device.
-- advice: Say what will be needed: madvise(MADV_WILLNEED or MADV_POPULATE_READ), or read() it.
SELECT coalesce(p.comm, 'pid ' || f.pid) AS program, shown_path_at(f.file, 0) AS subject, count(*) AS faults, count(*) FILTER (f.major <> 0) AS major,
       union_length(f.ts_ns, plus(f.ts_ns, f.duration_ns)) AS took_ns, busiest_share(f.ts_ns, plus(f.ts_ns, f.duration_ns), w.window_ns) AS busiest_share,
       union_length(f.ts_ns, plus(f.ts_ns, f.duration_ns)) AS could_save_ns, arg_max(f.op_id, f.duration_ns) AS op_id
FROM fault_file AS f CROSS JOIN busy_window AS w LEFT JOIN programs AS p ON f.pid = p.program_pid
GROUP BY program, f.file
HAVING count(*) FILTER (f.major <> 0) >= $faults OR busiest_share(f.ts_ns, plus(f.ts_ns, f.duration_ns), w.window_ns) >= $share

-- Snapshots of file systems, processes and the system: one row per snapshot.
--   snapshot      its number, which the rows of its tables have
--   kind          'fs', 'process', 'system'
--   begin_ns      its begin (CLOCK_MONOTONIC; wall_clock(begin_ns) is the date)
--   took_ns       its duration; NULL: it has no end, because its recorder was killed
--   path          for a file system, its root directory
--   is_delta      1: a delta: only the differences from the previous snapshot, and what was removed
--   is_complete   0: the recording ended before the snapshot
--   found         number of files, processes, or facts of the system that it examined
--   left_out      number of directories that it did not enter: snapshot_omissions
CREATE VIEW snapshots AS
SELECT b.snapshot AS snapshot, b.of AS kind, b.ts_ns AS begin_ns, e.took_ns AS took_ns, s.text AS path,
       b.is_delta AS is_delta, coalesce(e.is_complete, 0) AS is_complete, e.found AS found, e.left_out AS left_out
FROM snapshot_begin AS b
  LEFT JOIN snapshot_end AS e ON b.snapshot = e.snapshot
  LEFT JOIN strings AS s ON b.path = s.string;

-- Files of snapshots, with their paths: snapshot_file as text. One row per snapshot and file;
-- date_of(modified_ns) is a date.
--   snapshot, difference, path       number of the snapshot, difference in a delta ('added', 'changed',
--                                    'removed'), absolute path
--   ts_ns                            time of reading
--   type                             'regular', 'directory', 'symbolic_link', ...; NULL: a removed file of
--                                    unknown type
--   bytes, allocated_bytes           size, and space that it uses in the file system
--   inode, links, device             hard links have one inode number
--   mode, uid, gid                   type and permissions, owner, group
--   modified_ns, changed_ns, accessed_ns, born_ns   nanoseconds since 1970
--   error                            not 0: the errno with which its attributes could not be read
CREATE VIEW snapshot_files AS
SELECT f.snapshot AS snapshot, f.difference AS difference, s.text AS path, f.ts_ns AS ts_ns, v.name AS type,
       f.bytes AS bytes, f.allocated_bytes AS allocated_bytes, f.inode AS inode, f.links AS links, f.device AS device,
       f.mode AS mode, f.uid AS uid, f.gid AS gid, f.modified_ns AS modified_ns, f.changed_ns AS changed_ns,
       f.accessed_ns AS accessed_ns, f.born_ns AS born_ns, f.error AS error
FROM snapshot_file AS f
  LEFT JOIN strings AS s ON f.path = s.string
  LEFT JOIN value_names AS v ON v.value_table = 'file_type' AND bitAnd(f.mode, v.mask) = v.number;

-- The files that existed at the last reading: a full snapshot with all later deltas of this trace.
-- One row per file.
--   path, type, bytes, allocated_bytes, inode, links, device, mode, uid, gid   as in snapshot_files
--   modified_ns, changed_ns, accessed_ns, born_ns, error                       as there
CREATE VIEW snapshot_tree AS
WITH
  placed AS (
    SELECT path, difference, type, bytes, allocated_bytes, inode, links, device, mode, uid, gid, modified_ns, changed_ns,
           accessed_ns, born_ns, error, row_number() OVER (PARTITION BY path ORDER BY ts_ns DESC) AS place
    FROM snapshot_files
  )
SELECT path, type, bytes, allocated_bytes, inode, links, device, mode, uid, gid, modified_ns, changed_ns, accessed_ns,
       born_ns, error
FROM placed
WHERE place = 1 AND difference <> 'removed';

-- Directories that snapshots of file systems did not enter. One row per snapshot and directory.
--   snapshot, path, ts_ns   number of the snapshot, the directory, time of reading
--   reason                  'unreadable', 'other_file_system', 'path_too_long'
--   error, device           the errno; for another file system, its device number
CREATE VIEW snapshot_omissions AS
SELECT o.snapshot AS snapshot, s.text AS path, o.ts_ns AS ts_ns, o.reason AS reason, o.error AS error, o.device AS device
FROM snapshot_left_out AS o LEFT JOIN strings AS s ON o.path = s.string;

-- Processes of snapshots: snapshot_process as text. One row per snapshot and process.
--   snapshot, ts_ns                         number of the snapshot, and the time of reading
--   pid, parent_pid, uid, state, threads    as in the table
--   name, command, exe, cgroup              its name, command line, program file and control group
--   start_ns, cpu_ns                        start time, and CPU time since then
--   cpu_5s_permille, cpu_2m_permille, cpu_1h_permille   CPU share in thousandths of one CPU; NULL: unknown
--   resident_bytes, swap_bytes              memory
--   read_bytes, written_bytes               bytes moved by its calls, for any target
--   device_bytes_read                       bytes that devices read for it
--   device_bytes_written                    bytes that it made dirty or wrote directly, without those removed
--                                           before they were written
--   block_io_ns, major_faults               wait for block I/O, and the number of faults that waited for a
--                                           device
--   error                                   not 0: the errno with which part of it could not be read
--   container                               the container of its control group, by its full id or its name;
--                                           NULL: none
CREATE VIEW snapshot_processes AS
SELECT p.snapshot AS snapshot, p.ts_ns AS ts_ns, p.pid AS pid, p.parent_pid AS parent_pid, p.uid AS uid, p.state AS state,
       p.threads AS threads, n.text AS name, c.text AS command, x.text AS exe, g.text AS cgroup, p.start_ns AS start_ns,
       plus(p.cpu_user_ns, p.cpu_system_ns) AS cpu_ns,
       nullif(p.cpu_5s_permille, -1) AS cpu_5s_permille, nullif(p.cpu_2m_permille, -1) AS cpu_2m_permille,
       nullif(p.cpu_1h_permille, -1) AS cpu_1h_permille,
       p.resident_bytes AS resident_bytes, p.swap_bytes AS swap_bytes,
       p.call_bytes_read AS read_bytes, p.call_bytes_written AS written_bytes,
       p.device_bytes_read AS device_bytes_read, p.device_bytes_written AS device_bytes_written,
       p.block_io_ns AS block_io_ns, p.major_faults AS major_faults, p.error AS error, k.text AS container
FROM snapshot_process AS p
  LEFT JOIN strings AS n ON p.name = n.string
  LEFT JOIN strings AS c ON p.command = c.string
  LEFT JOIN strings AS x ON p.exe = x.string
  LEFT JOIN strings AS g ON p.cgroup = g.string
  LEFT JOIN strings AS k ON p.container = k.string;

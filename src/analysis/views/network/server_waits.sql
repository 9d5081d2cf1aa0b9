-- The FUSE daemons that the recorder found: one row per mounted FUSE file system, used or not. The recorder looks
-- during the recording, in its own mount namespace.
--   device        of the file system, as in files
--   mount_point   where it was mounted; NULL: unknown
--   pid, comm     the process that provides it; the pid as the recorder sees it
CREATE VIEW fuse_daemons AS
WITH
  tags AS (
    SELECT TRY_CAST(split_part("key", '.', 4) AS UINTEGER) AS device, split_part("key", '.', 5) AS what, value
    FROM manifest WHERE starts_with("key", 'tag.iotrail.fuse.')
  )
SELECT device, any_value(value) FILTER (what = 'mount') AS mount_point, TRY_CAST(any_value(value) FILTER (what = 'pid') AS UINTEGER) AS pid,
       any_value(value) FILTER (what = 'comm') AS comm
FROM tags
WHERE device IS NOT NULL
GROUP BY device
HAVING TRY_CAST(any_value(value) FILTER (what = 'pid') AS UINTEGER) IS NOT NULL
ORDER BY device
LIMIT 64; -- the recorder finds no more

-- Operations that waited for the server of a file system, or for its FUSE daemon: one row per selected operation.
--   waiting_op    the operation
--   device        of the file system; NULL: unknown, as the call has no file and no path below a known mount point
--   file_system   its type; NULL: unknown
--   daemon_pid, daemon   the FUSE daemon: its process and its program, 'sshfs[7]'; NULL: unknown, or no FUSE
--   mount_point   of a known daemon; NULL: unknown
CREATE VIEW served_ops AS
WITH
  asked AS (
    SELECT unnest([op_id, parent_op]) AS waiting_op, coalesce(contains(stack, 'fuse') OR contains(stack, 'request_wait_answer'), false) AS in_fuse
    FROM waits WHERE reason = 'server' AND blocked_ns > 0
  ),
  ops AS (SELECT waiting_op, max(in_fuse) AS in_fuse FROM asked WHERE waiting_op <> 0 GROUP BY waiting_op),
  by_file AS (
    SELECT e.op_id AS file_op, min(f.device) AS device, arg_min(f.file_system, f.device) AS file_system
    FROM all_events AS e JOIN files AS f ON e.file = f.file
    WHERE is_served(f.file_system) AND e.op_id IN (SELECT waiting_op FROM ops)
    GROUP BY e.op_id
  ),
  paths AS (
    SELECT op_id AS path_op, path FROM operations
    WHERE path IS NOT NULL AND op_id IN (SELECT waiting_op FROM ops WHERE waiting_op NOT IN (SELECT file_op FROM by_file))
  ),
  by_path AS (
    SELECT p.path_op AS path_op, arg_max(d.device, length(d.mount_point)) AS device
    FROM paths AS p JOIN fuse_daemons AS d ON p.path = d.mount_point OR starts_with(p.path, d.mount_point || '/')
    GROUP BY p.path_op
  ),
  only_one AS (SELECT min(device) AS device FROM fuse_daemons HAVING count(*) = 1),
  found AS (
    SELECT o.waiting_op AS waiting_op, f.file_system AS file_system,
           coalesce(f.device, p.device, CASE WHEN o.in_fuse THEN (SELECT device FROM only_one) END) AS device
    FROM ops AS o
      LEFT JOIN by_file AS f ON o.waiting_op = f.file_op
      LEFT JOIN by_path AS p ON o.waiting_op = p.path_op
  )
SELECT o.waiting_op AS waiting_op, o.device AS device,
       coalesce(o.file_system, CASE WHEN d.device IS NOT NULL THEN 'fuse' END) AS file_system,
       d.pid AS daemon_pid, coalesce(nullif(d.comm, ''), 'pid') || '[' || d.pid || ']' AS daemon, d.mount_point AS mount_point
FROM found AS o LEFT JOIN fuse_daemons AS d ON o.device = d.device;

-- How long calls waited for the servers of file systems, and for FUSE daemons: one row per file system, for the selected
-- calls.
--   device, file_system, mount_point, daemon_pid, daemon   as in served_ops
--   operations   number of operations that waited
--   waits        number of waits
--   wait_ns      sum of the waits
--   busy_ns      time in which at least one operation waited for it
--   share        busy_ns by the time of the run; NULL: the run has no length
--   longest_ns   the longest wait
CREATE VIEW server_waits AS
WITH
  asked AS (
    SELECT op_id, parent_op, ts_ns, blocked_ns FROM waits WHERE reason = 'server' AND blocked_ns > 0
  ),
  placed AS (
    SELECT a.op_id AS op_id, a.ts_ns AS ts_ns, a.blocked_ns AS blocked_ns, coalesce(o.device, p.device) AS device,
           coalesce(o.file_system, p.file_system) AS file_system, coalesce(o.mount_point, p.mount_point) AS mount_point,
           coalesce(o.daemon_pid, p.daemon_pid) AS daemon_pid, coalesce(o.daemon, p.daemon) AS daemon
    FROM asked AS a
      LEFT JOIN served_ops AS o ON a.op_id = o.waiting_op
      LEFT JOIN served_ops AS p ON a.parent_op = p.waiting_op
  ),
  summed AS (
    SELECT device, file_system, mount_point, daemon_pid, daemon, count(DISTINCT op_id) AS operations, count(*) AS waits,
           total(blocked_ns) AS wait_ns, union_length(ts_ns, plus(ts_ns, blocked_ns)) AS busy_ns, max(blocked_ns) AS longest_ns
    FROM placed GROUP BY ALL
  )
SELECT s.device AS device, s.file_system AS file_system, s.mount_point AS mount_point, s.daemon_pid AS daemon_pid, s.daemon AS daemon,
       s.operations AS operations, s.waits AS waits, s.wait_ns AS wait_ns, s.busy_ns AS busy_ns,
       least(s.busy_ns, r.duration_ns) / nullif(r.duration_ns, 0) AS share, s.longest_ns AS longest_ns
FROM summed AS s CROSS JOIN run AS r;

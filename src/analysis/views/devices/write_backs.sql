-- Triggers of write-back, and how long the pages had been dirty: one row per trigger, call and
-- process.
--   set_off_by      'call', or the kernel's reason; writeback_reasons has the meanings
--   call            class of the call that triggered it: 'fsync', 'write' with O_SYNC, ...; NULL: none, or not
--                   in the trace
--   pid, comm       the process of that call; NULL: none, or not in the trace
--   bytes           bytes submitted to devices
--   bios            bios, or parts of bios
--   mean_delay_ns, longest_delay_ns   from the write into the page cache to the bio; NULL: the trace has no
--                                     such write
-- Bytes count for the call that triggered write-back, not for the calls that wrote them: links has
-- both.
CREATE VIEW write_backs AS
WITH
  flushed AS (
    SELECT set_off_by, by_op, by_pid, bytes, minus(ts_ns, stored_ns) AS delay_ns
    FROM links
    WHERE set_off_by IS NOT NULL
  ),
  calls AS (
    SELECT op_id, any_value(class) AS class
    FROM all_events
    WHERE duration_ns IS NOT NULL AND is_asked(layer) AND op_id <> 0
      AND op_id IN (SELECT by_op FROM flushed)
    GROUP BY op_id
  ),
  sums AS (
    SELECT f.set_off_by AS set_off_by, c.class AS class,
           CASE f.set_off_by WHEN 'call' THEN f.by_pid END AS by_pid,
           sum(f.bytes) AS bytes, count(*) AS bios, mean(f.delay_ns) AS mean_delay_ns, max(f.delay_ns) AS longest_delay_ns
    FROM flushed AS f LEFT JOIN calls AS c ON f.by_op = c.op_id
    GROUP BY ALL
  )
SELECT s.set_off_by AS set_off_by, s.class AS call, s.by_pid AS pid, p.comm AS comm, CAST(s.bytes AS BIGINT) AS bytes,
       s.bios AS bios, s.mean_delay_ns AS mean_delay_ns, s.longest_delay_ns AS longest_delay_ns
FROM sums AS s LEFT JOIN programs AS p ON s.by_pid = p.program_pid;

-- One row per trigger of write-back.
--   set_off_by, meaning   the trigger, as in write_backs, and its meaning
CREATE TABLE writeback_reasons (set_off_by VARCHAR, meaning VARCHAR);
INSERT INTO writeback_reasons VALUES
  ('call', 'a call that waits for its data to be on the device, or needs the pages clean'),
  ('BACKGROUND', 'more was dirty than the background limit: vm.dirty_background_ratio or _bytes, or the part of it that the device or the control group has'),
  ('PERIODIC', 'the pages were dirty for longer than vm.dirty_expire_centisecs'),
  ('SYNC', 'sync(2), syncfs(2), or a file system that was unmounted'),
  ('VMSCAN', 'memory was short'),
  ('LAPTOP_TIMER', 'the laptop mode: the disk was in use anyway'),
  ('FS_FREE_SPACE', 'the file system is short of space for data that has no place yet'),
  ('FORKER_THREAD', 'no memory for a thread to write back'),
  ('FOREIGN_FLUSH', 'pages of a file that another control group wrote to'),
  ('unknown', 'a thread of the kernel of its own accord, as a journal''s commit; or the event cache_writeback was not recorded');

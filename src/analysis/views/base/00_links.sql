-- The causes of device I/O: one row per range of bytes in a bio with a single cause. The bytes of
-- completed links add up to what the devices completed. The table links has the selected rows.
--   ts_ns             when the bio was queued (CLOCK_MONOTONIC); without a bio, when the request was issued
--   direction         'read', 'write', 'discard', ...
--   bytes             bytes with this cause
--   cause             why they moved; causes has the meanings
--   is_remainder      1: no process is known for the cause
--   confidence        'exact'; 'shared': another write of the same bytes may be the cause; 'inferred': the
--                     deciding event is not in the trace, as after a loss
--   op_id, pid        the operation and process that caused them; 0: unknown
--   by_op, by_pid     the operation that queued the bio, such as the fsync that waits for a write-back, and its
--                     process
--   set_off_by        for pages written back, the trigger; writeback_reasons has the meanings; NULL: others
--   file, position    the file, and the position in bytes; NULL: unknown
--   plain_bytes       of data that is compressed on the device: its bytes in the file; NULL: others, or unknown
--   used_bytes        for read_ahead: bytes that a call read later; loads from mapped memory are not seen
--   late_bytes        part of used_bytes: read by a call that began before they arrived
--   late_ns           how long that call waited for them, as in late_reads
--   device, device_position   the device, and the position on it in bytes
--   stored_ns         for bytes written back: the latest time at which they can have entered the page cache;
--                     NULL: others
--   inserted_ns       when the request was put into a scheduler's queue; NULL: no request, or no scheduler
--                     queue
--   issued_ns, completed_ns   issue and completion of the request; NULL: its completion is not in the trace
--   error             of the request, or of a bio that a stacked disk failed itself: 0 or a negative errno
CREATE VIEW all_links AS
SELECT ts_ns, direction, bytes, cause, is_remainder, confidence, op_id, pid, by_op, by_pid, set_off_by, file, position, plain_bytes, used_bytes,
       late_bytes, late_ns, device, device_position, stored_ns, inserted_ns, issued_ns, completed_ns, error
FROM found_links();

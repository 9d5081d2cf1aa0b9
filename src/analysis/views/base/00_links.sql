-- Who caused what the devices did: bytes that a bio carried, with one cause each. Of completed links the bytes add up to what
-- the devices completed. links: those that are selected.
--   ts_ns             when the bio was queued (CLOCK_MONOTONIC); without a bio, when the request was issued
--   direction         'read', 'write', 'discard', ...
--   bytes             of this cause
--   cause             why they moved: causes says what each means
--   is_remainder      1: a cause that names nobody
--   confidence        'exact'; 'shared': another write of the same bytes may have been the one; 'inferred': something that
--                     would decide is not in the trace, as after a loss
--   op_id, pid        the operation and the process that caused them; 0: not known
--   by_op, by_pid     the operation in which the bio was queued, as the fsync that waits for a write-back, and the process
--   set_off_by        of pages that were written back, what set it off: writeback_reasons says what each means; NULL: others
--   file, position    the file, and where in it; NULL: not known
--   used_bytes        of read_ahead: those that a call read later; what is loaded from mapped memory is not seen
--   late_bytes        of these: by a call that began before they were there
--   late_ns           how long that call waited for them, as late_reads has it
--   device, device_position   where on the device, in bytes
--   stored_ns         of bytes written back: when they came into the page cache, at the latest; NULL: others
--   inserted_ns       when its request was put into a scheduler's queue; NULL: there is none, or it went past that
--   issued_ns, completed_ns   the request's way; NULL: its completion is not in the trace
--   error             of the request, or of a bio that a disk made of others failed by itself: 0 or a negative errno
CREATE VIEW all_links AS
SELECT ts_ns, direction, bytes, cause, is_remainder, confidence, op_id, pid, by_op, by_pid, set_off_by, file, position, used_bytes,
       late_bytes, late_ns, device, device_position, stored_ns, inserted_ns, issued_ns, completed_ns, error
FROM found_links();

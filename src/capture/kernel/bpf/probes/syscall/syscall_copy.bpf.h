/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Calls that copy from one descriptor to another: sendfile, copy_file_range, splice, tee, vmsplice.
 */
#ifndef IOTRAIL_SYSCALL_COPY_BPF_H
#define IOTRAIL_SYSCALL_COPY_BPF_H

#include "probes/syscall/syscall_data.bpf.h"

/* Both sides of a copy; IOT_NO_FD: memory of the program. */
struct copied {
  iot_s32 in_fd;
  iot_s32 out_fd;
  iot_u32 flags;
  iot_u64 bytes;
  iot_u64 in_place; /* address of a position in the program's memory; 0: the descriptor's counts */
  iot_u64 out_place;
};

/*
 * The position at which one side of a copy of `moved` bytes began. The call has advanced the
 * position, at `place` or of the descriptor.
 */
__noinline iot_s64 iot_position_of_copy(iot_s32 fd, iot_u64 place, iot_s64 moved) {
  const struct file* file = (const struct file*)iot_file_pointer_of_fd(fd);
  if (fd < 0 || !file)
    return IOT_OFFSET_NONE;
  const iot_u32 fd_flags =
      fd_flags_of(BPF_CORE_READ(file, f_mode), BPF_CORE_READ(file, f_inode, i_mode));
  if (!place)
    return position_before(BPF_CORE_READ(file, f_pos), fd_flags, moved);
  iot_s64 after = 0;
  return bpf_probe_read_user(&after, sizeof(after), (const void*)place)
             ? IOT_OFFSET_NONE
             : position_before(after, fd_flags, moved);
}

/* vmsplice(pipe, vector, count, flags): the end of the pipe determines the direction. */
static __always_inline struct copied vmsplice_of(const struct returned* call) {
  const iot_s32 fd = (iot_s32)call->arguments[0];
  const struct file* pipe = (const struct file*)iot_file_pointer_of_fd(fd);
  const int is_written =
      pipe && BPF_CORE_READ(pipe, f_flags) & (IOT_open_O_WRONLY | IOT_open_O_RDWR);
  const struct copied copied = {
      .in_fd = is_written ? IOT_NO_FD : fd,
      .out_fd = is_written ? fd : IOT_NO_FD,
      .flags = (iot_u32)call->arguments[3],
      .bytes = iot_vector_bytes(call->arguments[1], (iot_u32)call->arguments[2], call->is_compat)};
  return copied;
}

/* sendfile(out, in, offset, count), tee(in, out, count, flags); copy_file_range and splice(in, offset, out, offset, count, flags) */
static __always_inline struct copied copied_by(const struct returned* call) {
  const iot_s32 first = (iot_s32)call->arguments[0];
  const iot_s32 second = (iot_s32)call->arguments[1];
  struct copied copied = {
      .in_fd = first, .out_fd = (iot_s32)call->arguments[2], .bytes = call->arguments[4]};
  if (call->number == IOT_syscall_vmsplice)
    return vmsplice_of(call);
  if (call->number == IOT_syscall_sendfile) {
    copied.in_fd = second;
    copied.out_fd = first;
    copied.bytes = call->arguments[3];
    copied.in_place = call->arguments[2];
  } else if (call->number != IOT_syscall_tee) {
    copied.in_place = call->arguments[1];
    copied.out_place = call->arguments[3];
  }
  if (call->number == IOT_syscall_tee) {
    copied.out_fd = second;
    copied.bytes = call->arguments[2];
    copied.flags = (iot_u32)call->arguments[3];
  } else if (call->number == IOT_syscall_splice) {
    copied.flags = (iot_u32)call->arguments[5];
  }
  return copied;
}

static __always_inline void emit_copy(struct returned* call) {
  const struct copied copied = copied_by(call);
  const iot_s32 in_fd = copied.in_fd;
  const iot_s32 out_fd = copied.out_fd;
  const iot_u32 in_file = iot_file_of_fd(in_fd);
  const iot_u32 out_file = iot_file_of_fd(out_fd);
  const int is_in_wanted = iot_file_wanted(in_file);
  const int is_out_wanted = iot_file_wanted(out_file);
  if (!is_in_wanted && !is_out_wanted) {
    iot_file_of_call_wanted(in_file | out_file);
    return;
  }
  if (is_in_wanted != is_out_wanted) {
    const struct iot_file_sight other = {.file =
                                             iot_file_pointer_of_fd(is_in_wanted ? out_fd : in_fd)};
    iot_file_tell(&other, 0);
  }
  struct iot_place place;
  struct iot_syscall_copy* record = RESERVE_CALL(syscall_copy, &place, call);
  if (!record) {
    lose_call(call);
    return;
  }
  record->bytes_requested = copied.bytes;
  record->in_file = in_file;
  record->out_file = out_file;
  record->in_fd = in_fd;
  record->out_fd = out_fd;
  record->flags = copied.flags;
  /* 32-bit programs have positions of several sizes. */
  record->in_position = call->is_compat && copied.in_place
                            ? IOT_OFFSET_NONE
                            : iot_position_of_copy(in_fd, copied.in_place, call->result);
  record->out_position = call->is_compat && copied.out_place
                             ? IOT_OFFSET_NONE
                             : iot_position_of_copy(out_fd, copied.out_place, call->result);
  COMMIT_CALL(record, &place, call);
}

#endif

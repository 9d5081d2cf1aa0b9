/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * What the records of all system calls stand on: a call at its return, the file behind a descriptor, and arguments
 * wider than a register. Which call makes which record: syscall.bpf.c.
 */
#ifndef IOTRAIL_SYSCALL_BPF_H
#define IOTRAIL_SYSCALL_BPF_H

#include "core.bpf.h"

#define AT_FDCWD (-100)

/* One call at its return. `compat` is a constant wherever this is used. */
struct returned {
  struct pt_regs* regs;
  struct io_task* task;
  io_u64 duration_ns;
  io_s64 result;
  io_u32 number;
};

static __noinline io_u32 file_of_fd(struct io_task* task, io_s32 fd) {
  if (!io_config.has_cast) {
    struct file* small = io_small_file_of_fd(fd);
    if (small)
      return io_identify(task, small->f_inode, small, 1);
  }
  const io_u64 file = io_file_of_fd(fd);
  return file ? io_file_of(task, (const void*)file) : 0;
}

/* The fields that the records of all calls have, and the hand-over. */
#define COMMIT_CALL(record, slot, from)                                                            \
  do {                                                                                             \
    (record)->duration_ns = (from)->duration_ns;                                                   \
    (record)->result = (from)->result;                                                             \
    (record)->call = (from)->number;                                                               \
    io_commit((slot), (from)->task, (from)->task->entry_ns);                                       \
  } while (0)

/* A 64-bit argument: one register, or two in 32-bit programs. */
#define WIDE(low, high, compat)                                                                    \
  ((compat) ? (io_s64)((io_u64)(high) << 32 | (io_u32)(low)) : (io_s64)(low))

#endif

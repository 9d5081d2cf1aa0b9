/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The file of the call that queues a bio, for bios without a page of a file.
 */
#ifndef IOTRAIL_BLOCK_CALL_BPF_H
#define IOTRAIL_BLOCK_CALL_BPF_H

#include "track/block_content.bpf.h"
#include "track/call.bpf.h"
#include "track/file.bpf.h"

/* The descriptor of a call that reads or writes; IOT_NO_FD: it is another call, or metadata. */
static __always_inline iot_s32 fd_of_transfer(const struct iot_task* task, iot_u32 flags) {
  const iot_u32 kind = (iot_u32)(task->call & IOT_CALL_KIND_BITS) >> 16;
  if (!task->owner.op_id || (kind != IOT_KIND_syscall_read && kind != IOT_KIND_syscall_write) ||
      flags & (1U << BIT_OF(__REQ_META) | 1U << BIT_OF(__REQ_SWAP)))
    return IOT_NO_FD;
  const struct pt_regs* regs = (const struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf());
  return fd_of_call(regs, task->call);
}

/* Direct I/O of a call that waits: the call in progress names the file. */
static __always_inline iot_u32 file_of_call(struct iot_task* task, iot_u32 flags) {
  const iot_s32 fd = fd_of_transfer(task, flags);
  return fd == IOT_NO_FD ? 0 : iot_file_of_known_fd(task, fd);
}

/* The same for compressed bytes, with the inode, which has the size. */
static __noinline int iot_find_read_file(struct content* content, struct iot_task* task,
                                         iot_u32 flags) {
  const iot_s32 fd = content && task ? fd_of_transfer(task, flags) : IOT_NO_FD;
  const struct file* file = fd == IOT_NO_FD ? 0 : (const struct file*)iot_file_pointer_of_fd(fd);
  if (content && file)
    content->inode = (iot_u64)BPF_CORE_READ(file, f_inode);
  return 0;
}

#endif

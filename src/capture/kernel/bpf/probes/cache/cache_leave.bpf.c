/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Pages that leave the page cache, and why. The functions that drop them have no tracepoints. The
 * reason follows from the running thread, the file, and the call in progress.
 */
#include "track/attribution.bpf.h"
#include "track/call.bpf.h"
#include "track/core.bpf.h"
#include "types/folio.bpf.h"

#define PROC_SUPER_MAGIC 0x9fa0

/*
 * A write past the cache drops the pages that it overwrites. A write to a setting such as
 * drop_caches makes the kernel drop pages of others.
 */
static __noinline iot_u32 reason_of_write(iot_s32 fd, iot_u64 mapping) {
  const struct file* file = (const struct file*)iot_file_pointer_of_fd(fd);
  if (!file)
    return IOT_cache_reason_other;
  if ((iot_u64)BPF_CORE_READ(file, f_mapping) == mapping)
    return IOT_cache_reason_direct;
  return BPF_CORE_READ(file, f_inode, i_sb, s_magic) == PROC_SUPER_MAGIC ? IOT_cache_reason_asked
                                                                         : IOT_cache_reason_other;
}

#define IS_OPCODE(name) (opcode == IOT_async_call_IORING_OP_##name)

static __noinline iot_u32 reason_of_worker(void) {
  const iot_u64 request = request_of_worker();
  if (!request)
    return IOT_cache_reason_other;
  const iot_u32 opcode = BPF_CORE_READ((const struct io_kiocb*)request, opcode);
  if (is_one_of(opcode, READS_AND_WRITES))
    return IOT_cache_reason_direct;
  if (IS_OPCODE(FADVISE) || IS_OPCODE(MADVISE))
    return IOT_cache_reason_asked;
  return IS_OPCODE(FTRUNCATE) || IS_OPCODE(FALLOCATE) || IS_OPCODE(OPENAT) || IS_OPCODE(OPENAT2)
             ? IOT_cache_reason_truncated
             : IOT_cache_reason_other;
}

/*
 * The reason if the thread does not reclaim memory. The registers give the call, since a file may
 * be closed after its call has ended.
 */
static __noinline iot_u32 reason_of_call(iot_u64 mapping, iot_u32 mode) {
  struct task_struct* current = bpf_get_current_task_btf();
  if (current->flags & PF_IO_WORKER)
    return reason_of_worker();
  const iot_u32 unknown = (mode & IOT_CHOICE_file_type) == IOT_file_type_block_device
                              ? IOT_cache_reason_released
                              : IOT_cache_reason_other;
  if (current->flags & PF_KTHREAD)
    return unknown;
  const struct pt_regs* regs = (const struct pt_regs*)bpf_task_pt_regs(current);
  const iot_u64 call = call_of(current, regs->orig_ax);
  if (!call)
    return unknown;
  switch (IOT_CALL_CLASS(call)) {
  case CLASS(open):
  case CLASS(truncate):
    return IOT_cache_reason_truncated;
  case CLASS(advise): /* MADV_REMOVE makes a hole */
    return IOT_CALL_NUMBER(call) == IOT_syscall_madvise ? IOT_cache_reason_truncated
                                                        : IOT_cache_reason_asked;
  case CLASS(read):
    return IOT_cache_reason_asked;
  case CLASS(write):
    return reason_of_write(fd_of_call(regs, call), mapping);
  case CLASS(aio_submit):
  case CLASS(uring_enter):
    return IOT_cache_reason_direct;
  case CLASS(ioctl):
    return (call & IOT_CALL_COMPAT ? argument_of(regs, 1, 1) : argument_of(regs, 1, 0)) ==
                   IOT_ioctl_BLKFLSBUF
               ? IOT_cache_reason_asked
               : unknown;
  }
  return unknown;
}

static __always_inline iot_u32 reason_to_leave(const struct address_space* mapping,
                                               const struct inode* inode) {
  const struct task_struct* current = bpf_get_current_task_btf();
  if (current->flags & PF_KSWAPD)
    return IOT_cache_reason_kswapd;
  if (current->flags & PF_MEMALLOC) {
    if (current->flags & PF_KTHREAD) /* it needed memory, or frees it of its own accord: DAMON */
      return IOT_cache_reason_kernel_thread;
    const struct pt_regs* regs =
        (const struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf());
    const iot_u64 call = call_of(bpf_get_current_task_btf(), regs->orig_ax);
    return call && IOT_CALL_NUMBER(call) == IOT_syscall_madvise ? IOT_cache_reason_asked
                                                                : IOT_cache_reason_reclaim;
  }
  if (mapping->flags >> bpf_core_enum_value(enum mapping_flags, AS_EXITING) & 1)
    return inode->i_nlink ? IOT_cache_reason_released : IOT_cache_reason_deleted;
  return reason_of_call(iot_number_of(mapping), inode->i_mode);
}

SEC("?tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(cache_filemap_delete, struct folio* trusted) {
  struct folio* folio = IOT_UNTRUSTED(folio, trusted);
  const struct address_space* mapping = folio->mapping;
  struct attribution attribution;
  if (!find_attribution(&attribution, iot_current(), mapping->host, 1))
    return 0;
  const iot_u32 reason = reason_to_leave(mapping, mapping->host);
  const iot_u64 index = folio->index;
  const iot_u32 pages = iot_folio_pages(folio, 1);
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_cache_delete* record = IOT_RESERVE(cache_delete, &place);
  if (!record)
    return 0;
  record->index = index;
  record->file = attribution.file;
  record->pages = pages;
  record->reason = reason;
  iot_commit(&place, &attribution.owner, now_ns);
  return 0;
}

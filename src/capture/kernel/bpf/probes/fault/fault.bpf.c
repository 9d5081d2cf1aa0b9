/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Faults on mapped files, as operations: the system call in progress does not own the work of the
 * cache and the block layer for a fault. If faults are recorded, the operation lasts for the whole
 * fault, otherwise only while the pages of the file are searched for.
 */
#include "track/core.bpf.h"
#include "track/self_io.bpf.h"
#include "types/folio.bpf.h"

/* Whether the task is in a recorded fault. */
static __always_inline int is_in_fault(struct iot_task* task) {
  const struct iot_span* span = iot_span_innermost(task);
  return span && span->kind == IOT_KIND_fault_file;
}

static __always_inline int enter_fault(void) {
  struct iot_task* task = iot_current();
  if (task && !is_in_fault(task))
    iot_op_enter(task);
  return 0;
}

static __always_inline int leave_fault(void) {
  struct iot_task* task = iot_current();
  if (task && !is_in_fault(task))
    iot_op_leave(task);
  return 0;
}

SEC("?fentry/filemap_fault") int fault_filemap_enter(iot_u64* ctx) {
  return enter_fault();
}
SEC("?fexit/filemap_fault") int fault_filemap_exit(iot_u64* ctx) {
  return leave_fault();
}
SEC("?kprobe/filemap_fault") int fault_filemap_kprobe(struct pt_regs* regs) {
  return enter_fault();
}
SEC("?kretprobe/filemap_fault") int fault_filemap_kretprobe(struct pt_regs* regs) {
  return leave_fault();
}

/* The kernel's FAULT_FLAG_* and VM_FAULT_*. */
#define FAULT_WRITE 0x1
#define FAULT_INSTRUCTION 0x100
#define OUTCOME_NO_MEMORY 0x1
#define OUTCOME_MAJOR 0x4
#define OUTCOME_SIGNAL (0x2 | 0x10 | 0x20 | 0x40) /* SIGBUS, bad memory, SIGSEGV */
#define OUTCOME_RETRY 0x400

static __always_inline iot_u32 access_of(iot_u64 is_write, iot_u64 is_execute) {
  if (is_write)
    return IOT_fault_access_write;
  return is_execute ? IOT_fault_access_execute : IOT_fault_access_read;
}

static __always_inline int begin_file_fault(iot_u64 number, iot_u64 address, iot_u32 flags) {
  struct iot_task* task = iot_current();
  const struct vm_area_struct* area = (const void*)number;
  const struct file* file = task ? BPF_CORE_READ(area, vm_file) : 0;
  const struct inode* inode = file ? BPF_CORE_READ(file, f_inode) : 0;
  if (!inode || iot_is_self_io_page(task, inode))
    return 0;
  if (task->span_depth >= IOT_SPAN_DEPTH) {
    iot_lose(IOT_COUNTER_kernel_span_lost);
    return 0;
  }
  iot_op_enter(task);
  struct iot_span* span = iot_span_begin(task, IOT_KIND_fault_file, number);
  if (!span)
    return 0;
  const iot_u64 page = (address - BPF_CORE_READ(area, vm_start)) >> IOT_PAGE_SHIFT;
  span->offset = (iot_s64)((page + BPF_CORE_READ(area, vm_pgoff)) << IOT_PAGE_SHIFT);
  span->detail = address;
  span->flags = access_of(flags & FAULT_WRITE, flags & FAULT_INSTRUCTION);
  span->file = iot_file_of_inode(task, inode, file);
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

static __always_inline void emit_file_fault(struct iot_task* task, const struct iot_span* span,
                                            iot_u32 outcome) {
  const iot_u64 duration_ns = bpf_ktime_get_ns() - span->start_ns;
  struct iot_place place;
  struct iot_fault_file* record = IOT_RESERVE(fault_file, &place);
  if (!record)
    return;
  record->duration_ns = duration_ns;
  record->address = span->detail;
  record->offset = span->offset;
  record->result = outcome & OUTCOME_NO_MEMORY ? -ENOMEM : outcome & OUTCOME_SIGNAL ? -EFAULT : 0;
  record->file = span->file;
  record->access = span->flags;
  record->major = !!(outcome & OUTCOME_MAJOR);
  record->is_retried = !!(outcome & OUTCOME_RETRY);
  iot_commit(&place, iot_owner_of(task), span->start_ns);
}

/* The area may be gone by now. An `area` of 0 is unknown. */
static __always_inline int end_file_fault(iot_u64 area, iot_u32 outcome) {
  struct iot_task* task = iot_current();
  if (!task || !is_in_fault(task))
    return 0;
  const struct iot_span* span = iot_span_end(task, IOT_KIND_fault_file, area);
  if (!span)
    return 0;
  if (iot_file_wanted(span->file))
    emit_file_fault(task, span, outcome);
  iot_op_leave(task);
  return 0;
}

SEC("?fentry/handle_mm_fault") int fault_enter(iot_u64* ctx) {
  return begin_file_fault(ctx[0], ctx[1], (iot_u32)ctx[2]);
}
SEC("?fexit/handle_mm_fault") int fault_exit(iot_u64* ctx) {
  return end_file_fault(ctx[0], (iot_u32)ctx[4]);
}
SEC("?kprobe/handle_mm_fault") int fault_kprobe(struct pt_regs* regs) {
  return begin_file_fault(IOT_PARAMETER_0(regs), IOT_PARAMETER_1(regs),
                          (iot_u32)IOT_PARAMETER_2(regs));
}
SEC("?kretprobe/handle_mm_fault") int fault_kretprobe(struct pt_regs* regs) {
  return end_file_fault(0, (iot_u32)IOT_RESULT(regs));
}

/*
 * For kernels where no function can be hooked: the begin of a fault shows the access, the search
 * for its page shows the file, and the end is unknown.
 */
struct touch {
  iot_u64 address;
  iot_u32 access;
};
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct touch);
} touches SEC(".maps");

/* Bits of the error code of a page fault of x86. */
#define FAULT_CODE_WRITE 0x2
#define FAULT_CODE_INSTRUCTION 0x10
/* The value in place of a call's number in a task that entered the kernel by a fault. */
#define NO_CALL (-1)

SEC("?tp_btf/page_fault_user")
int BPF_PROG(fault_user, iot_u64 address, struct pt_regs* regs, iot_u64 code) {
  if (!iot_current())
    return 0;
  struct touch* touch =
      bpf_task_storage_get(&touches, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!touch)
    return 0; /* no memory: its page is recorded without it */
  touch->address = address;
  touch->access = access_of(code & FAULT_CODE_WRITE, code & FAULT_CODE_INSTRUCTION);
  return 0;
}

/*
 * The task that searches for pages of a mapped file, and the file; NULL: it is not traced, or the
 * file is not wanted.
 */
static __always_inline struct iot_task* find_toucher(struct address_space* trusted, iot_u32* file) {
  struct address_space* mapping = IOT_UNTRUSTED(address_space, trusted);
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  const struct inode* inode = mapping->host;
  if (iot_is_self_io_page(task, inode))
    return 0;
  *file = iot_file_of_inode(task, inode, 0);
  return iot_file_wanted(*file) ? task : 0;
}

/*
 * An access of the kernel in a call, also in one that is not followed (exec), has no access event
 * of its own.
 */
static __always_inline int is_outside_calls(void) {
  const struct pt_regs* regs = (const struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf());
  return (iot_s64)regs->orig_ax == NO_CALL;
}

SEC("?tp_btf/mm_filemap_fault")
int BPF_PROG(fault_page, struct address_space* trusted, iot_u64 index) {
  iot_u32 file = 0;
  struct iot_task* task = find_toucher(trusted, &file);
  if (!task)
    return 0;
  struct touch now = {};
  struct touch* touch = bpf_task_storage_get(&touches, bpf_get_current_task_btf(), 0, 0);
  if (touch && is_outside_calls())
    now = *touch;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_fault_page* record = IOT_RESERVE(fault_page, &place);
  if (!record)
    return 0;
  record->address = now.address;
  record->index = index;
  record->file = file;
  record->access = now.access;
  iot_commit(&place, iot_owner_of(task), now_ns);
  return 0;
}

SEC("?tp_btf/mm_filemap_map_pages")
int BPF_PROG(fault_around, struct address_space* trusted, iot_u64 first, iot_u64 last) {
  iot_u32 file = 0;
  struct iot_task* task = find_toucher(trusted, &file);
  if (!task)
    return 0;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_fault_around* record = IOT_RESERVE(fault_around, &place);
  if (!record)
    return 0;
  record->index = first;
  record->file = file;
  record->pages = (iot_u32)(last - first + 1);
  iot_commit(&place, iot_owner_of(task), now_ns);
  return 0;
}

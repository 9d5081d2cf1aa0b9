/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Faults on mapped files, as operations: what the cache and the block layer do for one is not the work of the system call
 * that may be in progress, whose memory is being filled.
 */
#include "core.bpf.h"

static __always_inline int enter_fault(void) {
  struct iot_task* task = iot_current();
  if (task)
    iot_op_enter(task);
  return 0;
}

static __always_inline int leave_fault(void) {
  struct iot_task* task = iot_current();
  if (task)
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

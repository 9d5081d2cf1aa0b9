/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * What system calls ask of the layer below them: a compiler may have inlined a hooked function at some of its call sites,
 * so a call that ends looks whether the events that it cannot do without were there.
 */
#ifndef IOTRAIL_VFS_BPF_H
#define IOTRAIL_VFS_BPF_H

#include "core.bpf.h"

static __always_inline void note_below(struct iot_task* task, iot_u32 kind) {
  if (iot_config.served_below & IOT_BELOW(kind))
    task->below |= IOT_BELOW(kind);
}

/*
 * The call in progress ends without the event `kind` (low byte). A fsync is recorded from the call itself, which lasts as
 * long; another one is a loss (kernel_hook_bypassed).
 */
int iot_find_bypassed(iot_u32 kind, iot_s64 result, iot_u64 now_ns);

#endif

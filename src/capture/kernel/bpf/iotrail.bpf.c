/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * All programs as one translation unit, since the linker of libbpf 1.1 refuses two objects that call the same kernel
 * function, and as one object, since each object would read the kernel's types anew: docs/adr/0008.
 */
#include "core.bpf.h"

char _license[] SEC("license") = "Dual BSD/GPL";

const volatile struct iot_config iot_config = {};

#include "file.bpf.c"
#include "task.bpf.c"

#include "allocate.bpf.c"
#include "async.bpf.c"
#include "block.bpf.c"
#include "block_bio.bpf.c"
#include "cache.bpf.c"
#include "device.bpf.c"
#include "fault.bpf.c"
#include "journal.bpf.c"
#include "memory.bpf.c"
#include "net.bpf.c"
#include "process.bpf.c"
#include "sched.bpf.c"
#include "syscall.bpf.c"
#include "vfs.bpf.c"

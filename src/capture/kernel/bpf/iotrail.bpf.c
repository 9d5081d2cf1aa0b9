/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * All programs as one translation unit, since the linker of libbpf 1.1 refuses two objects that call the same kernel
 * function, and as one object, since each object would read the kernel's types anew: docs/adr/0008.
 */
#include "core.bpf.h"

char _license[] SEC("license") = IOT_PROGRAM_LICENSE;

const volatile struct iot_config iot_config = {};

#include "file.bpf.c"
#include "task.bpf.c"

#include "programs.bpf.h" /* made by the build: every other *.bpf.c of this folder */

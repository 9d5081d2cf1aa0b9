/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * All programs are one translation unit: the linker of libbpf 1.1 refuses two objects that call the same kernel function.
 * They are one object, since each object would read the types of the kernel again: docs/adr/0008.
 */
#include "track/core.bpf.h"

char _license[] SEC("license") = IOT_PROGRAM_LICENSE;

const volatile struct iot_config iot_config = {};

#include "track/file.bpf.c"
#include "track/named_path.bpf.c"
#include "track/task.bpf.c"

#include "programs.bpf.h" /* made by the build: every *.bpf.c below probes/ */

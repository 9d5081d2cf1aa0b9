/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * All programs as one translation unit: the linker of libbpf 1.1 refuses two objects that call the same kernel function
 * (bpf_rdonly_cast), and each layer needs it.
 */
#include "core.bpf.c"

#include "block.bpf.c"
#include "process.bpf.c"
#include "syscall.bpf.c"
#if __has_include("vfs.bpf.c")
#include "vfs.bpf.c"
#endif
#if __has_include("cache.bpf.c")
#include "cache.bpf.c"
#endif

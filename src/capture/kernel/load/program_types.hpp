// SPDX-License-Identifier: BSD-3-Clause
//
// What the running kernel's types tell of BPF programs before any is loaded: a program that it refuses fails the whole load.
#pragma once

#include <string_view>

#include "capture/kernel/load/hooks.hpp"
#include "capture/kernel/load/kernel_types.hpp"

struct bpf_object;
struct bpf_program;

namespace iotrail::capture::kernel {

constexpr std::string_view kCastFunction = "bpf_rdonly_cast";

// A load that a signal breaks off is begun anew, so many times.
constexpr int kInterruptionsMost = 50;

// The functions that programs hook or call, and all tracepoints, as the running kernel has them.
const KernelTypes& kernel_types();
// The same anew, for the programs of `object`: modules come and go. Returns what it was read of.
KernelBtf read_kernel_types(const bpf_object* object);

// 0, or the errno with which the kernel refuses to hook a function: told by a program that does nothing.
int refusal_of_function_hooks();
// 0, or the errno with which the kernel refuses a program that reads its memory.
int refusal_of_memory_reads();

std::string_view section_of(const bpf_program* program); // "fentry/vfs_read"
// "vfs_read" of "fentry/vfs_read"; empty: the program hooks no function.
std::string_view function_of(const bpf_program* program);

// The type by which the kernel knows the function or the tracepoint that a program hooks, or the objects that it lists.
HookedType hooked_type(const bpf_program* program);

// What is said of the functions that the programs of `object` name, by a kernel with these types.
KernelTypes types_for(const bpf_object* object, const KernelBtf& btf);

// Those of `object` that a kernel with these types cannot load, as far as that is known. `refusal_of_functions`: 0, or the
// errno with which it refuses to hook functions.
void refuse_unavailable(const bpf_object* object, const KernelTypes& types,
                        int refusal_of_functions, Refusals& refusals);

} // namespace iotrail::capture::kernel

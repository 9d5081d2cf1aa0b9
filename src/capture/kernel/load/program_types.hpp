// SPDX-License-Identifier: BSD-3-Clause
//
// Checks BPF programs against the running kernel's types before any is loaded: one refused program
// fails the whole load.
#pragma once

#include <string_view>

#include "capture/kernel/load/hooks.hpp"
#include "capture/kernel/load/kernel_types.hpp"

struct bpf_object;
struct bpf_program;

namespace iotrail::capture::kernel {

constexpr std::string_view kCastFunction = "bpf_rdonly_cast";

// A load that a signal interrupts is repeated, at most so many times.
constexpr int kInterruptionsMost = 50;

// The functions that programs hook or call, and all tracepoints of the running kernel.
const KernelTypes& kernel_types();
// The same again, for the programs of `object`: modules come and go. Returns the types that it was
// read from.
KernelBtf read_kernel_types(const bpf_object* object);

// 0, or the errno with which the kernel refuses to hook a function, found by a program that does
// nothing.
int refusal_of_function_hooks();
// 0, or the errno with which the kernel refuses a program that reads its memory.
int refusal_of_memory_reads();

std::string_view section_of(const bpf_program* program); // "fentry/vfs_read"
// "vfs_read" of "fentry/vfs_read"; empty: the program hooks no function.
std::string_view function_of(const bpf_program* program);

// The kernel's type of the function or the tracepoint that a program hooks, or of the objects that
// it lists.
HookedType hooked_type(const bpf_program* program);

// Selects the functions that the programs of `object` name, from a kernel with these types.
KernelTypes types_for(const bpf_object* object, const KernelBtf& btf);

// The programs of `object` that a kernel with these types cannot load, as far as known.
// `refusal_of_functions`: 0, or the errno with which it refuses to hook functions.
void refuse_unavailable(const bpf_object* object, const KernelTypes& types,
                        int refusal_of_functions, Refusals& refusals);

} // namespace iotrail::capture::kernel

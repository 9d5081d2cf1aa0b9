// SPDX-License-Identifier: BSD-3-Clause
//
// What /proc says about a thread that sleeps in a system call, besides the registers. Nothing here
// opens or asks a file of the thread: its file system may be the one that does not answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "abi.h"
#include "capture/kernel/collect/late_names.hpp"

namespace iotrail::capture::kernel {

// The file of a descriptor. The path gives its type: /proc does not say it otherwise.
std::optional<OpenFile> file_of_descriptor(iot_u32 tid, std::int32_t fd);

// A path in the thread's memory; empty: it cannot be read within a tenth of a second.
std::string path_in_memory(iot_u32 tid, std::uint64_t address);

// The kernel functions in which the thread sleeps, outermost first: "vfs_read;pipe_read". Empty:
// unknown.
std::string kernel_stack(iot_u32 tid);

// When the thread ran last (CLOCK_MONOTONIC); 0: unknown. Later than the truth by the time that its
// processor spent in interrupts, or that the host took from it, since then.
std::uint64_t last_run_ns(iot_u32 tid);

// Of /proc/TID/stack, /proc/TID/sched and one line of /proc/TID/mountinfo.
std::string parse_kernel_stack(std::string_view text);
std::optional<std::uint64_t> parse_last_run(std::string_view text);
std::optional<iot_u32> parse_mount_device(std::string_view line, std::uint64_t mount);

} // namespace iotrail::capture::kernel

// SPDX-License-Identifier: BSD-3-Clause
//
// Spans of a task that are open when a recording stops: of the virtual file system, of faults, of file systems, of memory
// management.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/collect/rings.hpp"

namespace iotrail::capture::kernel {

// Appends a record of each open span of `task` that is wanted. They last until `stopped_ns`. A span
// of an operation that is over has ended unseen (docs/adr/0007): its duration is 0. All have
// duration, file and result (IOT_UNFINISHED). Reads, writes, opens, syncs, faults and reclaims also
// have the values from their begins.
void add_unfinished_spans(const iot_task& task, const iot_config& config, std::uint64_t stopped_ns,
                          std::vector<RecordSlot>& records);

} // namespace iotrail::capture::kernel

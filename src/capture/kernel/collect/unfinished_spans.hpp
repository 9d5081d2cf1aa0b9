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

// Appends a record of each open span of `task` that the recording is to have. They last until `stopped_ns`; one whose
// operation is over has ended, and nobody was told (docs/adr/0007): its duration is 0. Duration, file and
// result (IOT_UNFINISHED) are in all; of reads, writes, opens, syncs, faults and reclaims also what their begins told.
void add_unfinished_spans(const iot_task& task, const iot_config& config, std::uint64_t stopped_ns,
                          std::vector<RecordSlot>& records);

} // namespace iotrail::capture::kernel

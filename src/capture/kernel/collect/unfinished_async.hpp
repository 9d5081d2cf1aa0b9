// SPDX-License-Identifier: BSD-3-Clause
//
// Operations of io_uring and libaio that are under way when a recording stops.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/kernel/abi/kernel_abi_async.h"
#include "capture/kernel/collect/rings.hpp"

namespace iotrail::capture::kernel {

// Appends the records of `async` that the recording is to have, with IOT_UNFINISHED as their result. It lasts until
// `stopped_ns`; if it may have ended without a word (`are_ends_missed`: completions were), its duration is 0.
void add_unfinished_async(const iot_async& async, const iot_config& config,
                          std::uint64_t stopped_ns, bool are_ends_missed,
                          std::vector<RecordSlot>& records);

} // namespace iotrail::capture::kernel

// SPDX-License-Identifier: BSD-3-Clause
//
// Operations of io_uring and libaio that are in flight when a recording stops.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/kernel/abi/kernel_abi_async.h"
#include "capture/kernel/collect/rings.hpp"

namespace iotrail::capture::kernel {

// Appends the wanted records of `async` with the result IOT_UNFINISHED. It lasts until
// `stopped_ns`. Its duration is 0 if it may have ended unseen (`are_ends_missed`: completions were
// missed).
void add_unfinished_async(const iot_async& async, const iot_config& config,
                          std::uint64_t stopped_ns, bool are_ends_missed,
                          std::vector<RecordSlot>& records);

} // namespace iotrail::capture::kernel

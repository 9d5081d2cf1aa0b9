// SPDX-License-Identifier: BSD-3-Clause
//
// The counters of the BPF programs.
#pragma once

#include <cstdint>

#include "capture/kernel/abi/kernel_abi.h"

namespace iotrail::capture::kernel {

// Sums over the processors of the map `counters`; the longest of longest_lost_ns. All 0 if it is
// unreadable.
iot_counter_values read_counters(int map_fd, std::uint32_t cpu_count);

} // namespace iotrail::capture::kernel

// SPDX-License-Identifier: BSD-3-Clause
//
// What this process itself takes.
#pragma once

#include <cstdint>

namespace iotrail::capture {

std::uint64_t cpu_time_ns(); // of all its threads

// Memory of this process only: the rings are shared with the traced side and counted separately.
std::uint64_t own_memory_bytes();

} // namespace iotrail::capture

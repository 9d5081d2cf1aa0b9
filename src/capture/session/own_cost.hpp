// SPDX-License-Identifier: BSD-3-Clause
//
// What this process itself takes, and what the kernel says of any.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace iotrail::capture {

struct CpuTime {
  std::uint64_t user_ns = 0;
  std::uint64_t system_ns = 0;
};

CpuTime cpu_time_of(const rusage& usage);

std::uint64_t cpu_time_ns(); // of all threads of this process

// Memory of this process only: the rings are shared with the traced side and counted separately.
std::uint64_t own_memory_bytes();

} // namespace iotrail::capture

// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/own_cost.hpp"

#include <unistd.h>

#include <cstdio>

namespace iotrail::capture {

namespace {

std::uint64_t ns_of(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_usec) * 1000U;
}

} // namespace

CpuTime cpu_time_of(const rusage& usage) {
  return {.user_ns = ns_of(usage.ru_utime), .system_ns = ns_of(usage.ru_stime)};
}

std::uint64_t cpu_time_ns() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const CpuTime time = cpu_time_of(usage);
  return time.user_ns + time.system_ns;
}

std::uint64_t own_memory_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr)
    return 0;
  unsigned long size = 0;
  unsigned long resident = 0;
  unsigned long shared = 0;
  const int fields = std::fscanf(file, "%lu %lu %lu", &size, &resident, &shared);
  std::fclose(file);
  return fields == 3 ? (resident - shared) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))
                     : 0;
}

} // namespace iotrail::capture

// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/own_cost.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

namespace iotrail::capture {

std::uint64_t cpu_time_ns() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(time.tv_usec) * 1000U;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
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

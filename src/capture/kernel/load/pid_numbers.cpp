// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/load/pid_numbers.hpp"

#include <sys/stat.h>

#include <cstring>
#include <span>

#include "base/process.hpp"

namespace iotrail::capture::kernel {

bool counts_like_kernel() {
  struct stat attributes{};
  return ::stat("/proc/self/ns/pid", &attributes) != 0 || attributes.st_ino == kInitialPidNamespace;
}

iot_u32 PidNumbers::of(pid_t pid) {
  const auto own = static_cast<iot_u32>(pid);
  if (counts_like_kernel())
    return own;
  if (!numbers_.contains(own))
    read();
  const auto found = numbers_.find(own);
  return found == numbers_.end() ? 0 : found->second;
}

void PidNumbers::read() {
  numbers_.clear();
  const std::vector<std::byte> listed = object_.list("task_numbers");
  for (std::span<const std::byte> rest = listed; rest.size() >= sizeof(iot_task_number);
       rest = rest.subspan(sizeof(iot_task_number))) {
    iot_task_number number{};
    std::memcpy(&number, rest.data(), sizeof number);
    numbers_[number.inside] = number.of_kernel;
  }
}

} // namespace iotrail::capture::kernel

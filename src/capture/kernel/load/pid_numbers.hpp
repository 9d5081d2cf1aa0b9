// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers of tasks in the kernel's numbering. A recorder in a container numbers its processes
// otherwise: its /proc, fork() and -p use numbers that are valid only in its own pid namespace.
#pragma once

#include <sys/types.h>

#include <unordered_map>

#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/load/bpf_object.hpp"

namespace iotrail::capture::kernel {

// Whether this process is in the initial pid namespace, as the kernel numbers tasks.
bool counts_like_kernel();

class PidNumbers {
public:
  explicit PidNumbers(const BpfObject& object) : object_(object) {}

  // The kernel's number of a task that this process sees as `pid`; 0: no such task.
  iot_u32 of(pid_t pid);

private:
  void read();

  const BpfObject& object_;
  std::unordered_map<iot_u32, iot_u32> numbers_; // as of the last search that found nothing
};

} // namespace iotrail::capture::kernel

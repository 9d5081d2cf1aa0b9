// SPDX-License-Identifier: BSD-3-Clause
//
// The virtual machines that run on this machine: processes of QEMU.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.hpp"

namespace iotrail::capture::vm {

struct Machine {
  pid_t pid = 0;
  std::string name; // of the guest, as libvirt and `qemu -name` set it; empty: none
};

// Whether this process is QEMU.
bool is_machine(pid_t pid);

// Sorted by PID. Other users' machines are included.
std::vector<Machine> running_machines();

// The running machine with this PID or name; the error lists the machines that run.
Result<Machine> find_machine(const std::string& text);
Result<Machine> find_machine(const std::string& text, const std::vector<Machine>& machines);

} // namespace iotrail::capture::vm

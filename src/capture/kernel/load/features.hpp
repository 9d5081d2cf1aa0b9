// SPDX-License-Identifier: BSD-3-Clause
//
// The features of this machine that the kernel source needs: BTF, capabilities, lockdown. Found by
// trying, never by versions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace iotrail::capture {

// A property of this machine that decides what the kernel source can do.
struct KernelFact {
  std::string name; // "BTF"
  bool is_met = false;
  std::string detail; // what was found
  std::string remedy; // how to get it; empty: nothing to do
};

// How to be permitted to trace. Without the first two commands, every user could read the I/O of
// root; they come first, since a change of owner or group takes capabilities away.
inline constexpr std::string_view kPermissionRemedy =
    "run as root, or let one group trace: chgrp GROUP, chmod 0750, then setcap "
    "cap_bpf,cap_perfmon+ep, each on the program";

std::vector<KernelFact> kernel_facts();
// The feature that all recording needs, whatever the privileges: programs read the kernel's memory.
KernelFact memory_reads();

} // namespace iotrail::capture

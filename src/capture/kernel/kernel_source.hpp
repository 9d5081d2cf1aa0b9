// SPDX-License-Identifier: BSD-3-Clause
//
// The kernel as a source of events: BPF programs on its trace points and, where allowed, on its functions. Needs BTF and
// the capabilities BPF and PERFMON. What serves each event is decided by trying (hooks.hpp) and told by hooks().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capture/source.hpp"

namespace iotrail::capture {

std::unique_ptr<Source> make_kernel_source();

// A property of this machine that decides what the kernel source can do.
struct KernelFact {
  std::string name; // "BTF"
  bool is_met = false;
  std::string detail; // what was found
  std::string remedy; // how to get it; empty: nothing to do
};

std::vector<KernelFact> kernel_facts();
// The one of these without which nothing is recorded whatever the privileges: programs read the kernel's memory.
KernelFact memory_reads();

// Loads and attaches each hook on its own, records nothing, and tells what would serve each event and why not.
std::vector<store::HookReport> probe_hooks(const std::vector<schema::Layer>& layers);

} // namespace iotrail::capture

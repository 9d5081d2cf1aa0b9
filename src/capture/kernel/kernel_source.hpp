// SPDX-License-Identifier: BSD-3-Clause
//
// The kernel as a source of events: BPF programs on its trace points and, where allowed, on its functions. Needs BTF and
// the capabilities BPF and PERFMON. What serves each event is decided by trying (hooks.hpp) and told by hooks().
#pragma once

#include <memory>
#include <vector>

#include "capture/kernel/load/features.hpp"
#include "capture/source.hpp"

namespace iotrail::capture {

std::unique_ptr<Source> make_kernel_source();

// Loads and attaches each hook on its own, records nothing, and tells what would serve each event and why not.
std::vector<store::HookReport> probe_hooks(const std::vector<schema::Layer>& layers);

} // namespace iotrail::capture

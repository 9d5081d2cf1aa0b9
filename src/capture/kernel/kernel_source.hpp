// SPDX-License-Identifier: BSD-3-Clause
//
// The kernel as a source of events: BPF programs on its tracepoints and, if allowed, on its
// functions. Needs BTF and the capabilities BPF and PERFMON. The source tries which hooks serve
// each event (hooks.hpp), and hooks() lists them.
#pragma once

#include <memory>
#include <vector>

#include "capture/kernel/load/features.hpp"
#include "capture/source.hpp"

namespace iotrail::capture {

std::unique_ptr<Source> make_kernel_source();

// Loads and attaches each hook on its own, records nothing, and returns which hook would serve each
// event, or why none.
std::vector<store::HookReport> probe_hooks(const std::vector<schema::Layer>& layers);

} // namespace iotrail::capture

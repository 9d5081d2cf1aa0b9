// SPDX-License-Identifier: BSD-3-Clause
//
// What each call spent its time on, for the view call_parts: found_call_parts(). One pass over the
// calls, in the order of time, keeps only the operations in progress. SQL would join and sort all of
// them, and plan for longer than a small trace takes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/tables/wait_reasons.hpp"
#include "schema.hpp"
#include "store/reader/trace_reader.hpp"
#include "trail/state/link.hpp"

namespace iotrail::analysis {

// The parts of an operation's time, as in the table time_parts: their steps are numbers from 1
// on. If several overlap, the first one counts. The last four are the operation itself.
inline constexpr std::array<std::string_view, 15> kCallParts = {
    "device", "scheduler",          "plug",   "queue",  "journal",    "held back",
    "wait",   "file system",        "submit", "worker", "unreported", "system call",
    "kernel", "outside the kernel", "call"};

// A part of an operation: one row per operation, part and reason.
struct CallPart {
  std::uint64_t op_id;
  std::uint64_t ns;
  std::uint8_t step;
  ReasonNumber reason; // of a wait; kNoReason: others
};

// The layer at which calls are counted: the recorded one with the smallest call_rank; nullptr: none.
const schema::LayerInfo* call_layer_of(const store::TraceReader& trace);

// The parts of all calls of the call layer and of all asynchronous operations. `links` are those of
// the trace.
std::vector<CallPart> find_call_parts(const store::TraceReader& trace,
                                      std::span<const trail::Link> links);

} // namespace iotrail::analysis

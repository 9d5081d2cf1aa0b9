// SPDX-License-Identifier: BSD-3-Clause
//
// The reasons of the waits of a trace, as in the view all_waits.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "store/reader/trace_reader.hpp"

namespace iotrail::analysis {

// Position of a reason in wait_reasons_in_order(); kNoReason: none, or unknown.
using ReasonNumber = std::uint8_t;
inline constexpr ReasonNumber kNoReason = UINT8_MAX;

// The names of all reasons, sorted: of waits that overlap, the first one counts.
std::span<const std::string_view> wait_reasons_in_order();
ReasonNumber reason_number(std::string_view name);

// The types of file systems that get their data from a server or from another program.
std::span<const std::string_view> served_file_systems();

class WaitReasons {
public:
  explicit WaitReasons(const store::TraceReader& trace);

  // `stack`: the key of the kernel functions in which an operation waited.
  ReasonNumber reason(std::uint64_t stack, std::uint64_t op_id) const;
  // Whether the trace has a wait of this operation.
  bool has_wait(std::uint64_t op_id) const { return waiting_.contains(op_id); }

private:
  void read_waits(const store::TraceReader& trace);
  void read_stacks(const store::TraceReader& trace);
  void read_served(const store::TraceReader& trace);

  std::unordered_map<std::uint64_t, ReasonNumber> reasons_; // by stack
  std::unordered_set<std::uint64_t> waiting_;               // operations
  std::unordered_set<std::uint64_t> served_;                // operations on served files
};

} // namespace iotrail::analysis

// SPDX-License-Identifier: BSD-3-Clause
//
// The tables of a trace that find_call_parts() reads, and what it takes of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/tables/call_parts.hpp"
#include "store/reader/event_stream.hpp"

namespace iotrail::analysis {

// The number of a part is its step. Each part, and above them each reason of a wait, has a bit.
consteval unsigned step_of(std::string_view part) {
  return static_cast<unsigned>(std::ranges::find(kCallParts, part) - kCallParts.begin()) + 1;
}
consteval std::uint64_t bit_of(std::string_view part) {
  return std::uint64_t{1} << step_of(part);
}
constexpr unsigned kFirstReason = kCallParts.size() + 1;

inline std::uint64_t bit_of_reason(ReasonNumber reason) {
  return std::uint64_t{1} << (kFirstReason + reason);
}

enum class Use : std::uint8_t { call, file_system, wait, commit };

// What a call waits for besides its own requests.
enum class Sync : std::uint8_t { none, file, all };

// A table of the trace, and its columns; -1: none.
struct CallSource {
  const store::TableInfo* table;
  Use use;
  std::uint64_t own = 0; // bit of a call
  bool is_async = false;
  int op = -1;
  int parent = -1;
  int duration = -1;
  int file = -1;
  int call = -1;
  int result = -1;
  int extra = -1; // of an asynchronous operation, handed_over_ns; of a wait, runnable_ns
  int stack = -1;
  int state = -1;
  bool may_sync = false;                           // one of its calls does
  std::unordered_map<std::uint64_t, Sync> syncs{}; // by call

  std::vector<int> columns() const {
    std::vector<int> wanted;
    for (const int column : {op, parent, duration, file, call, result, extra, stack, state})
      if (column >= 0 && std::ranges::find(wanted, column) == wanted.end())
        wanted.push_back(column);
    return wanted;
  }
};

using CallSources = std::map<iot_u16, CallSource>;

CallSources sources_of(const store::TraceReader& trace);
store::EventStream::Columns columns_of(const CallSources& sources);
// By the number of the call; remembers it.
Sync sync_of(CallSource& source, std::uint64_t call);

} // namespace iotrail::analysis

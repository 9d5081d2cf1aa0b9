// SPDX-License-Identifier: BSD-3-Clause
//
// Which events of a trace a script shows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/names/trace_dictionaries.hpp"
#include "base/result.hpp"
#include "store/reader/event_stream.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::output {

struct ScriptSelection {
  std::uint64_t since_ns = 0;            // after the begin of the recording
  std::uint64_t until_ns = 0;            // 0: its end
  std::string process{};                 // pid of a process, or its name at the time; empty: all
  std::string file{};                    // shell pattern for paths; empty: all
  std::vector<std::string> operations{}; // calls (call:read) or classes; empty: all events

  bool is_all() const {
    return since_ns == 0 && until_ns == 0 && process.empty() && file.empty() && operations.empty();
  }
};

// With operations, selects these and all events of them, whichever task did the work. Else selects
// events by their own time, process and file.
class ScriptFilter {
public:
  // Fails if there are too many such operations for memory.
  static Result<ScriptFilter> make(const store::TraceReader& trace,
                                   const analysis::TraceDictionaries& dictionaries,
                                   const ScriptSelection& selection);

  bool selects(const store::EventStream& event) const;

private:
  ScriptFilter(const store::TraceReader& trace, const analysis::TraceDictionaries& dictionaries,
               const ScriptSelection& selection);
  Result<void> find_operations(const store::TraceReader& trace);
  bool has_own_facts(const store::EventStream& event) const;
  bool is_of_file(const store::EventStream& event) const;
  bool is_named(const store::EventStream& event) const;

  const analysis::TraceDictionaries& dictionaries_;
  const ScriptSelection& selection_;
  std::uint64_t from_ns_;
  std::uint64_t to_ns_;
  std::vector<std::uint64_t> operations_; // sorted
};

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
//
// The dictionaries of a trace in memory, for the ids in its events. The memory depends on the size
// of the dictionaries, not on the number of events. Read-only after load(); safe to share among
// threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "store/reader/event_stream.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::analysis {

// In a forged trace, a few blocks may stand for any amount of text.
inline constexpr std::size_t kMostTextBytes = std::size_t{1} << 30U;

class TraceDictionaries {
public:
  // Reads at most `most_text_bytes` of the dictionary `strings`; if a trace has more, its limits()
  // report it.
  static TraceDictionaries load(const store::TraceReader& trace,
                                std::size_t most_text_bytes = kMostTextBytes);

  // The path of a file at the time; for a removed file the last one and " (deleted)", as the kernel
  // prints it. Empty: unknown.
  std::string_view file(std::uint64_t id, std::uint64_t ts_ns) const;
  std::string_view text(std::uint64_t id) const;
  std::string_view device(std::uint64_t number) const;
  // Name of the program that process `pid` ran at the time.
  std::string_view comm(std::uint64_t pid, std::uint64_t ts_ns) const;

private:
  struct NamedProgram {
    std::uint64_t since_ns;
    std::string comm;
  };
  struct NamedFile {
    std::uint64_t since_ns;
    std::string path;
  };
  std::unordered_map<std::uint64_t, std::vector<NamedFile>> files_; // oldest first, at least one
  std::unordered_map<std::uint64_t, std::string> texts_;
  std::unordered_map<std::uint64_t, std::string> devices_;
  std::unordered_map<std::uint64_t, std::vector<NamedProgram>> programs_; // oldest first
};

// Time at which to look up the file names of the current event: its begin. For an asynchronous
// operation its end, because it may wait for another operation that renames its file.
std::uint64_t naming_time_ns(const store::EventStream& event);

} // namespace iotrail::analysis

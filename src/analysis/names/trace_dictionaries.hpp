// SPDX-License-Identifier: BSD-3-Clause
//
// The dictionaries of a trace in memory: what the ids in its events stand for. Their size is that of the
// dictionaries, not of the events. Read only after load(); safe to share among threads.
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

// A few blocks of a trace that was made up may stand for any amount of text.
inline constexpr std::size_t kMostTextBytes = std::size_t{1} << 30U;

class TraceDictionaries {
public:
  // Of the dictionary `strings` as much as `most_text_bytes`; a trace that has more says so among its limits().
  static TraceDictionaries load(const store::TraceReader& trace,
                                std::size_t most_text_bytes = kMostTextBytes);

  // Empty: not known.
  // The path that a file had at the time; of one that has none any more the last, and " (deleted)", as the kernel says it.
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

// When the files of the current event have the names that it is shown with: as it begins. An asynchronous operation may wait
// for another that renames its file, and so has them as it ends.
std::uint64_t naming_time_ns(const store::EventStream& event);

} // namespace iotrail::analysis

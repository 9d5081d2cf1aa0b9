// SPDX-License-Identifier: BSD-3-Clause
//
// The changes of file names in a trace, in the order in which the calls ended. Renames, removals
// and links come from the lowest layer that has any: vfs, else syscall, else app. Those of io_uring
// are not system calls, so they come from its operations if the layer vfs has none. Unreadable
// blocks are skipped; the reader counts them.
//
// Memory holds the blocks at the current time, the first sight of each file and process, and the
// calls in progress. There are at most kMostUnderWay of those; beyond that, the first one is
// returned before its turn.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string_view>
#include <vector>

#include "schema.hpp"
#include "store/reader/event_stream.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::analysis {

// At equal times, an earlier enumerator comes first.
enum class NameEvent : std::uint8_t {
  birth, // of a process: its first row in the dictionary
  sight, // of a file: its first event has ended; its path was read by then
  open,
  duplicate, // of a descriptor
  directory, // the current one of a process
  root,      // the same, where its whole paths begin
  link,
  removal,
  renaming
};

// Texts are keys of `strings`, files and directories of `files`; 0: none, or the event has no such
// field. For a link, the existing name is the old one.
struct NameChange {
  std::uint64_t at_ns; // when the call ended
  std::uint64_t begin_ns;
  NameEvent what;
  bool is_of_vfs; // names lie in `directory` and `new_directory`, else paths start at descriptors
  std::uint32_t pid;
  std::uint32_t parent_pid; // of a birth
  std::uint32_t container;  // of a birth: an own number for each; 0: none
  std::uint32_t file;
  std::uint32_t replaced;
  std::uint32_t directory;
  std::uint32_t new_directory;
  std::uint32_t text;
  std::uint32_t new_text;
  std::int32_t fd;
  std::int32_t new_fd;
  std::int64_t result;
  std::uint32_t flags;
};

class NameChanges {
public:
  static constexpr std::size_t kMostUnderWay = 1U << 16U;

  explicit NameChanges(const store::TraceReader& trace);

  // Whether any call used or changed a name. If not, next() returns nothing.
  bool any() const { return stream_.has_value(); }
  std::optional<NameChange> next(); // nullopt: the end

private:
  static constexpr std::size_t kColumns = 14;
  struct Source {
    NameEvent what;
    bool is_of_vfs;
    std::string_view calls;            // value table of its calls
    std::array<int, kColumns> columns; // -1: none
  };
  struct Pending {
    NameChange change;
    std::uint64_t number; // breaks ties
  };
  struct Later {
    bool operator()(const Pending& a, const Pending& b) const;
  };

  bool add_lowest(std::string_view event, NameEvent what);
  bool add_source(std::string_view table, NameEvent what, bool is_of_vfs,
                  std::string_view calls = "syscall");
  void find_sights();
  void find_births();
  void add_row();

  const store::TraceReader& trace_;
  std::map<iot_u16, Source> sources_;
  std::set<NameEvent> known_by_vfs_;
  std::optional<store::EventStream> stream_;
  std::vector<NameChange> firsts_; // births and sights by time
  std::size_t next_first_ = 0;
  std::priority_queue<Pending, std::vector<Pending>, Later> under_way_;
  std::uint64_t read_up_to_ns_ = 0;
  std::uint64_t rows_ = 0;
  bool is_at_end_ = false;
};

} // namespace iotrail::analysis

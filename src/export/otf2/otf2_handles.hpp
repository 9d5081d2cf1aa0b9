// SPDX-License-Identifier: BSD-3-Clause
//
// Handles: one for each life of a descriptor of a process, from the call that makes it to its close,
// or to the call that makes the same number again. A descriptor that was open before, as one that a
// program inherits, has a handle that is open from the begin on.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "export/otf2/otf2_archive.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {

struct Otf2Descriptor {
  std::uint64_t pid = 0;
  std::int64_t fd = -1; // -1: unknown, or none
  std::uint64_t file = 0;

  auto key() const { return std::pair(pid, fd); }
};

class Otf2Handles {
public:
  explicit Otf2Handles(Otf2Archive& archive) : archive_(archive) {}

  // Reads what made and closed descriptors. Handles are defined when they are first used.
  Result<void> load(const TraceInput& input, std::string_view details_sql);

  struct Opened {
    OTF2_IoHandleRef handle;
    std::optional<OTF2_IoHandleRef> replaced; // the handle that had the number until then
  };
  // Of the call that began at this time. nullopt: it is not among those that load() read.
  std::optional<Opened> opened(const Otf2Descriptor& descriptor, std::uint64_t ts_ns,
                               const std::string& path);
  std::optional<OTF2_IoHandleRef> closed(const Otf2Descriptor& descriptor, std::uint64_t ts_ns,
                                         const std::string& path);
  // For an operation that began at this time.
  OTF2_IoHandleRef used(const Otf2Descriptor& descriptor, std::uint64_t ts_ns,
                        const std::string& path);
  // The open descriptors from `first` to `last` that a call of this time closed.
  std::vector<OTF2_IoHandleRef> closed_range(std::uint64_t pid, std::uint64_t first,
                                             std::uint64_t last, std::uint64_t ts_ns);
  OTF2_IoHandleRef of_device(std::uint64_t device, const std::string& name);

private:
  struct Life {
    std::uint64_t open_ns = 0;             // begin of the call that made it
    std::uint64_t from_ns = 0;             // its end
    std::uint64_t until_ns = UINT64_MAX;   // begin of the call that ended it
    bool is_created = true;                // false: open before
    std::uint64_t file = 0;                // key of files; 0: unknown
    std::optional<OTF2_IoFileRef> named{}; // nullopt: its path is unknown
    std::optional<OTF2_IoHandleRef> handle{};
  };
  using Lives = std::map<std::pair<std::uint64_t, std::int64_t>, std::vector<Life>>;

  void add_open(std::uint64_t pid, std::int64_t fd, const Life& life);
  void add_close(std::uint64_t pid, std::int64_t fd, const Life& life);
  void add_close_range(std::uint64_t pid, std::uint64_t first, std::uint64_t last,
                       std::uint64_t ts_ns);
  OTF2_IoHandleRef defined(Life& life, std::int64_t fd, const std::string& path);

  Otf2Archive& archive_;
  Lives lives_; // of each descriptor, one after the other
  std::map<std::tuple<std::uint64_t, std::int64_t, std::uint64_t>, Life> always_;
  std::map<std::uint64_t, OTF2_IoHandleRef> devices_;
};

} // namespace iotrail::output

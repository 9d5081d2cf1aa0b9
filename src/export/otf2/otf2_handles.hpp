// SPDX-License-Identifier: BSD-3-Clause
//
// Handles of files: one for each time that a process opened a file, and one, open all the time, for
// what it used without opening it while it was recorded. A close ends the oldest open handle of its
// process and file.
#pragma once

#include <otf2/otf2.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "export/otf2/otf2_archive.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {

class Otf2Handles {
public:
  explicit Otf2Handles(Otf2Archive& archive) : archive_(archive) {}

  // Reads all opens and closes. Their handles are defined when they are first used.
  Result<void> load(const TraceInput& input);

  // Of the open or close that began at this time; nullopt: a close of an older handle.
  std::optional<OTF2_IoHandleRef> opened(std::uint64_t pid, std::uint64_t file, std::uint64_t ts_ns,
                                         const std::string& path);
  std::optional<OTF2_IoHandleRef> closed(std::uint64_t pid, std::uint64_t file, std::uint64_t ts_ns,
                                         const std::string& path);
  // For an operation in this time.
  OTF2_IoHandleRef used(std::uint64_t pid, std::uint64_t file, std::uint64_t ts_ns,
                        const std::string& path);
  OTF2_IoHandleRef of_device(std::uint64_t device, const std::string& name);

private:
  struct Life {
    std::uint64_t open_ns = 0; // begin of the open
    std::uint64_t from_ns = 0; // its end
    std::uint64_t close_ns = UINT64_MAX;
    std::optional<OTF2_IoHandleRef> handle;
  };
  struct Lives {
    std::vector<Life> all; // in the order of opens
    std::size_t closed = 0;
  };
  using Owner = std::pair<std::uint64_t, std::uint64_t>; // process and file

  void add(const Owner& owner, bool is_open, std::uint64_t ts_ns, std::uint64_t end_ns);
  OTF2_IoHandleRef defined(std::optional<OTF2_IoHandleRef>& handle, const std::string& path,
                           bool is_created);

  Otf2Archive& archive_;
  std::map<Owner, Lives> lives_;
  std::map<Owner, std::optional<OTF2_IoHandleRef>> always_;
  std::map<std::uint64_t, OTF2_IoHandleRef> devices_;
};

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
//
// Files of a file system that keeps its data in files of another one, such as overlayfs. A program
// writes to the file above. In the same call, pages of the file below become dirty at the same
// position, or direct I/O of that file begins.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "trail/state/fact.hpp"

namespace iotrail::trail {

// Not thread-safe.
class StackedFiles {
public:
  // with_pages: files with pages that became dirty or were in a bio. Such a file is not above
  // another one. not_below: files with metadata pages that a write to another file makes dirty.
  StackedFiles(std::unordered_set<std::uint32_t> with_pages,
               std::unordered_set<std::uint32_t> not_below);

  // Call it with each fact, sorted by time. A fact of a file known to lie below another one becomes
  // a fact of the file above, which the program knows. Returns the key of the file above if it has
  // just been found, else 0.
  std::uint32_t translate(Fact& fact);

private:
  struct Write {
    std::uint32_t file;
    std::uint64_t begin; // of its range; writes without a known range are not kept
    std::uint64_t end;
    std::uint64_t end_ns;
  };

  void remember(const Fact& write);
  std::uint32_t find_above(const Fact& stored);

  std::unordered_set<std::uint32_t> with_pages_;
  std::unordered_set<std::uint32_t> not_below_;
  std::unordered_map<std::uint32_t, std::uint32_t> above_; // by the file below
  static constexpr std::size_t kWritesKept = 4096;
  std::size_t most_writes_ = kWritesKept;           // limit before ended writes are forgotten
  std::unordered_map<std::uint64_t, Write> writes_; // in flight, and some that have ended, by op_id
};

} // namespace iotrail::trail

// SPDX-License-Identifier: BSD-3-Clause
//
// Files of a file system that keeps its data in files of another one, such as overlayfs: a program writes to the file above, and
// pages of the file below become dirty in the same call, at the same place, or direct I/O of that file begins in it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "trail/state/fact.hpp"

namespace iotrail::trail {

// Not for several threads at once.
class StackedFiles {
public:
  // with_pages: files of which some page became dirty or was in a bio. Such a file is not above another one.
  // not_below: files of which a write of another one makes pages dirty that hold metadata.
  StackedFiles(std::unordered_set<std::uint32_t> with_pages,
               std::unordered_set<std::uint32_t> not_below);

  // To be called with each fact, in the order of time. Of a file that is known to lie below another one it makes that one's, which
  // the program knows. The key of the file above if it has just been found, else 0.
  std::uint32_t translate(Fact& fact);

private:
  struct Write {
    std::uint32_t file;
    std::uint64_t begin; // of its range; no write whose range is not known is here
    std::uint64_t end;
    std::uint64_t end_ns;
  };

  void remember(const Fact& write);
  std::uint32_t find_above(const Fact& stored);

  std::unordered_set<std::uint32_t> with_pages_;
  std::unordered_set<std::uint32_t> not_below_;
  std::unordered_map<std::uint32_t, std::uint32_t> above_; // by the file below
  static constexpr std::size_t kWritesKept = 4096;
  std::size_t most_writes_ = kWritesKept;           // before those that have ended are forgotten
  std::unordered_map<std::uint64_t, Write> writes_; // in flight, and some that have ended, by op_id
};

} // namespace iotrail::trail

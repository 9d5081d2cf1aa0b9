// SPDX-License-Identifier: BSD-3-Clause
//
// Which things were in progress at the same time, and for how long.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace iotrail::analysis {

// A time in which a set of things, a bit each, was in progress.
struct Piece {
  std::uint64_t from;
  std::uint64_t until; // after `from`
  std::uint64_t what;
};

// A set of things, and the time in which exactly these were in progress.
struct Overlap {
  std::uint64_t what;
  std::uint64_t ns;
};

// Keeps its memory from one set of pieces to the next.
class OverlapFinder {
public:
  void add(const Piece& piece);
  // Of the pieces added since the last call: one entry for each set of things, by their bits.
  void find(std::vector<Overlap>& overlaps);

private:
  // Begin or end of a piece.
  struct Change {
    std::uint64_t at;
    std::uint64_t what;
    bool is_begin;
  };
  std::uint64_t changed(std::uint64_t what, const Change& change);

  std::vector<Change> changes_;
  std::array<std::uint64_t, 64> counts_{}; // pieces in progress for each thing
};

} // namespace iotrail::analysis

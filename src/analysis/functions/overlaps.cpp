// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/functions/overlaps.hpp"

#include <algorithm>
#include <bit>

namespace iotrail::analysis {

namespace {

// Merges entries for the same set of things.
void unite(std::vector<Overlap>& overlaps) {
  std::ranges::sort(overlaps, {}, &Overlap::what);
  std::size_t kept = 0;
  for (std::size_t i = 1; i < overlaps.size(); ++i)
    if (overlaps[i].what == overlaps[kept].what)
      overlaps[kept].ns += overlaps[i].ns;
    else
      overlaps[++kept] = overlaps[i];
  if (!overlaps.empty())
    overlaps.resize(kept + 1);
}

} // namespace

void OverlapFinder::add(const Piece& piece) {
  changes_.push_back({piece.from, piece.what, true});
  changes_.push_back({piece.until, piece.what, false});
}

std::uint64_t OverlapFinder::changed(std::uint64_t what, const Change& change) {
  for (std::uint64_t rest = change.what; rest != 0; rest &= rest - 1) {
    const std::uint64_t bit = rest & -rest;
    std::uint64_t& count = counts_[static_cast<std::size_t>(std::countr_zero(bit))];
    count += change.is_begin ? 1 : -1ULL;
    what = count > 0 ? what | bit : what & ~bit;
  }
  return what;
}

void OverlapFinder::find(std::vector<Overlap>& overlaps) {
  overlaps.clear();
  std::ranges::sort(changes_, {}, &Change::at);
  std::uint64_t what = 0;
  std::uint64_t reached = 0;
  for (const Change& change : changes_) {
    if (change.at > reached && what != 0)
      overlaps.push_back({what, change.at - reached});
    what = changed(what, change);
    reached = change.at;
  }
  changes_.clear(); // each piece has ended: all counts are 0 again
  unite(overlaps);
}

} // namespace iotrail::analysis

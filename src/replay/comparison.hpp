// SPDX-License-Identifier: BSD-3-Clause
//
// Whether the recording of a replay has the calls of the recording that was replayed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "replay/plan.hpp"

namespace iotrail::replay {

struct Comparison {
  static constexpr std::size_t kNamedMost = 5;

  std::uint64_t calls = 0; // of the replayed recording, and their bytes
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
  std::vector<std::string> differences; // the first ones, as sentences
  std::uint64_t difference_count = 0;   // sets of calls of one kind on one file
};

// Compares number, bytes and positions of all calls of a kind on a path, but for opens, closes and
// look-ups: a replay makes some of its own. `place` is the directory of the replay.
Comparison compare(const Plan& original, const Plan& replayed, const std::filesystem::path& place);

} // namespace iotrail::replay

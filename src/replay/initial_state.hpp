// SPDX-License-Identifier: BSD-3-Clause
//
// What must be there before the first action: directories, and files with the data that is read
// before it is written. Other ranges of these files are holes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "replay/place.hpp"
#include "replay/plan.hpp"
#include "replay/ranges.hpp"

namespace iotrail::replay {

struct InitialState {
  std::vector<std::string> directories; // each after the one that it is in
  std::map<std::string, Ranges> files;  // by path: data; the size is its end
  std::uint64_t data_bytes = 0;         // of the files
  std::uint64_t written_bytes = 0;      // at most, that the actions add
};

InitialState initial_state(const Plan& plan);

// Makes it. Fails before the first file if the space does not suffice.
Result<void> prepare(const InitialState& state, const Place& place);

} // namespace iotrail::replay

// SPDX-License-Identifier: BSD-3-Clause
//
// Makes the actions again, each in a thread for its recorded thread. An action begins when all
// actions are over that were over before it in the recording, and after the time that its thread
// then spent outside of calls.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "replay/place.hpp"
#include "replay/plan.hpp"

namespace iotrail::replay {

struct KindOutcome {
  std::uint64_t calls = 0;
  std::uint64_t agreed = 0; // same result, same number of bytes
  std::uint64_t recorded_bytes = 0;
  std::uint64_t moved_bytes = 0;
};

struct Outcome {
  static constexpr std::size_t kNamedMost = 5;

  std::array<KindOutcome, kKinds> kinds{};
  std::vector<std::string> differences; // the first ones, as sentences
  std::uint64_t threads = 0;            // that the recording had
  std::uint64_t recorded_ns = 0;        // from the first begin to the last end
  std::uint64_t duration_ns = 0;        // the same of the replay

  std::uint64_t calls() const;
  std::uint64_t differed() const;
};

// `speed`: 2 halves the times outside of calls; 0 leaves them out. Fails if the recording had more
// than kThreadsMost calls at a time.
Result<Outcome> run(const Plan& plan, const Place& place, double speed);

} // namespace iotrail::replay

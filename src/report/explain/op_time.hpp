// SPDX-License-Identifier: BSD-3-Clause
//
// Where the time of one operation went; the view op_time has the parts.
#pragma once

#include <cstdint>
#include <vector>

#include "report/document.hpp"
#include "report/explain/explain_parts.hpp"

namespace iotrail::output {

// The time within `whole` that lies in at least one of the spans.
std::uint64_t covered_ns(std::vector<Span> spans, const Span& whole);

// The shares of one kind are one, the largest first; details are those of its parts, if it has
// several.
struct TimeSum {
  std::string words;
  std::uint64_t ns = 0;
  std::vector<TimeShare> parts{};
};
std::vector<TimeSum> sums_of(const std::vector<TimeShare>& shares);

// "Of 5.20 ms: waiting for the disk 1.40 ms (26.9 %; at the device 1.20 ms, in its queue 200 us),
// ..."
Sentence time_sentence(const std::vector<TimeShare>& shares, const Span& whole);

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
//
// Where the time of one operation went, in words; the view op_time has the parts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/document.hpp"

namespace iotrail::output {

// The time within `whole` that lies in at least one of the spans.
std::uint64_t covered_ns(std::vector<Span> spans, const Span& whole);

struct TimeShare {
  std::string what;
  std::uint64_t ns = 0;
};

// "Of 5.20 ms: the device 1.20 ms (23.1 %), ..."
std::string time_text(const std::vector<TimeShare>& shares, const Span& whole);

} // namespace iotrail::output

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

// "Of 5.20 ms: the device 1.20 ms (23.1 %), ..."
Sentence time_sentence(const std::vector<TimeShare>& shares, const Span& whole);

} // namespace iotrail::output

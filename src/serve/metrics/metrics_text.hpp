// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers of a recording in the text format of Prometheus, 0.0.4. docs/recording.md lists them.
#pragma once

#include <string>

#include "serve/metrics/live_counts.hpp"
#include "store/format/manifest.hpp"

namespace iotrail::serve {

inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// `manifest`: as it is now; `now_ns` is monotonic.
std::string metrics_text(const LiveSums& sums, const store::Manifest& manifest,
                         std::uint64_t now_ns);

} // namespace iotrail::serve

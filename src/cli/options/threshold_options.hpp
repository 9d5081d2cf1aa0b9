// SPDX-License-Identifier: BSD-3-Clause
//
// The options that leave out operations that took or moved too little.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "capture/selection/filter.hpp"
#include "cli/options/event_options.hpp"

namespace iotrail::cli {

// As on the command line.
struct ThresholdOptions {
  std::optional<std::string> latency; // "1ms"
  std::optional<std::string> size;    // "64K"
};

void declare_thresholds(CLI::App& app, ThresholdOptions& options);

// Fills `filter.thresholds`; the filter has its layers and events. Refuses what these could not tell.
Result<void> select_thresholds(const ThresholdOptions& options, capture::Filter& filter);

// For sums: an operation is counted or left out at its end, when its effects are counted already.
// So events of the layers below are not counted at all, and refused if they are named.
void declare_min_latency(CLI::App& app, ThresholdOptions& options);
Result<void> select_min_latency(const ThresholdOptions& options, const EventOptions& named,
                                capture::Filter& filter);

// As on the command line.
std::vector<std::string> filters_text(const ThresholdOptions& options);

} // namespace iotrail::cli

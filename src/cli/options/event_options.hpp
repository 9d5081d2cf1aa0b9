// SPDX-License-Identifier: BSD-3-Clause
//
// The options that say which events are recorded.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "capture/selection/filter.hpp"

namespace iotrail::cli {

struct EventOptions {
  std::vector<std::string> layers;
  std::vector<std::string> events;
  std::vector<std::string> excluded_layers;
  std::vector<std::string> excluded_events;
};

void declare_events(CLI::App& app, EventOptions& options);

// Fills layers and events of the filter. Without a command the layer app, which is seen only in what iotrail starts, has
// to be asked for.
Result<void> select_events(const EventOptions& options, bool has_command, capture::Filter& filter);

// Events of the recorded layers that are recorded on request only, and that the options do not ask for; none if they name events
// without `default`: then all others are left out on purpose.
std::vector<std::string_view> events_not_asked_for(const EventOptions& options,
                                                   const capture::Filter& filter);

} // namespace iotrail::cli

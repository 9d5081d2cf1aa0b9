// SPDX-License-Identifier: BSD-3-Clause
//
// The options of recording verbs that select tasks, layers and events.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "capture/selection/filter.hpp"
#include "cli/options/event_options.hpp"
#include "cli/options/filter_options.hpp"
#include "cli/verb.hpp"

namespace iotrail::cli {

struct Target {
  EventOptions events;
  FilterOptions things;
};

void declare_target(CLI::App& app, Target& target);

// Refuses what names nothing, or names it in two ways. `verb` is named in the advice.
Result<capture::Filter> make_filter(const Target& target, const Trailing& command,
                                    std::string_view verb);

// As on the command line; what a trace is of is to be read off it.
std::vector<std::string> filters_text(const Target& target);
// Of a trace that was given none.
std::string trace_name(const Target& target, const Trailing& command);

} // namespace iotrail::cli

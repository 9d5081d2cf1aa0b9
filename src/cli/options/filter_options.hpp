// SPDX-License-Identifier: BSD-3-Clause
//
// The options that say of what a recording is: tasks, files, devices.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "capture/selection/filter.hpp"

namespace iotrail::cli {

// As on the command line.
struct FilterOptions {
  std::vector<pid_t> pids;
  std::vector<std::string> machines; // virtual ones, by name or PID
  std::vector<pid_t> excluded_pids;
  std::vector<std::string> users; // names or numbers
  std::vector<std::string> excluded_users;
  capture::Selector wanted; // but for users
  capture::Selector excluded;
  bool whole_system = false;
  std::optional<std::string> sample; // "1/100"
  bool pseudo = false;
};

void declare_filter(CLI::App& app, FilterOptions& options);

// Fills all of the filter but for layers and events. Refuses what cannot be, or can match nothing; `verb` is named in the advice.
Result<void> select_things(const FilterOptions& options, bool has_command, std::string_view verb,
                           capture::Filter& filter);

// As on the command line; what a trace is of is to be read off it.
std::vector<std::string> filters_text(const FilterOptions& options);

// What a recording without a command is called after: "pid-17".
std::string name_of_target(const FilterOptions& options);

} // namespace iotrail::cli

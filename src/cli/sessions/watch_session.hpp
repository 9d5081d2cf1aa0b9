// SPDX-License-Identifier: BSD-3-Clause
//
// A watcher, from its begin to its end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/console.hpp"

namespace iotrail::cli {

struct WatchSession {
  std::vector<std::string> paths{}; // absolute: files to watch at once
  std::filesystem::path point{};    // of the control files; empty: none
  std::size_t entries_most = 0;     // of a log; 0: the default
  std::string program = "iotrail";  // in messages
};

// Watches until a signal, or until the mount is taken away. Returns the exit status.
Result<int> serve_watch(const Console& console, const WatchSession& session);

} // namespace iotrail::cli

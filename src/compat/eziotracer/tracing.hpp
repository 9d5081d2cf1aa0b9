// SPDX-License-Identifier: BSD-3-Clause
//
// A recording as the tracers of EZIOTracer make it: some levels of some tasks, on a file or on the
// files of a directory. What it wrote is then printed in their form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "capture/request/request.hpp"
#include "cli/console.hpp"
#include "export/model/level_rows.hpp"

namespace iotrail::compat::eziotracer {

inline constexpr std::uint64_t kDefaultPages = 32'768;

struct TracingOptions {
  std::vector<std::string> tasks; // names; empty: all
  std::string inode;              // number or path; empty: all files
  bool is_directory = false;      // the files directly in it
  std::string levels = "vpfb";
  std::vector<std::string> devices;
  std::uint64_t buffer_pages = kDefaultPages;
  std::string output;               // a new file; empty: standard output
  std::vector<std::string> command; // empty: what runs, until a signal
};

struct Tracing {
  capture::RecordingRequest request;
  output::LevelSelection selection;
};

// Refuses letters of levels, inodes and devices that there are not.
Result<Tracing> tracing_of(const TracingOptions& options);

// Records, and prints the lines. `face` begins each message. Returns the status of the command.
Result<int> trace(const cli::Console& console, std::string_view face,
                  const TracingOptions& options);

} // namespace iotrail::compat::eziotracer

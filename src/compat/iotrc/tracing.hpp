// SPDX-License-Identifier: BSD-3-Clause
//
// A recording as IO Tracer makes it, then its tree of files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "capture/request/request.hpp"
#include "cli/console.hpp"
#include "compat/iotrc/machine.hpp"
#include "compat/iotrc/upload.hpp"
#include "export/iotrc/tree.hpp"

namespace iotrail::compat::iotrc {

inline constexpr std::string_view kFace = "iotrc";
inline constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

struct TracingOptions {
  bool is_verbose = false;
  StreamChoice streams; // as asked for
  output::iotrc::Options tree;
  std::string output;     // directory of the tree; "": the one for temporary files
  UploadTarget upload;    // of the finished tree
  std::string root = "/"; // of snapshots of files
  bool takes_snapshots = true;
  std::uint64_t seconds = 0;        // 0: no limit
  std::vector<std::string> command; // empty: the whole machine, until a signal
};

// What is recorded; the trace is still without a name.
capture::RecordingRequest request_of(const TracingOptions& options, StreamChoice streams);

// Records, writes the tree, uploads it. Returns the command's exit status, if one ran.
Result<int> trace(const cli::Console& console, TracingOptions options);

// Completes the upload of a finished tree, .../linux_v1/MACHINE/SESSION.
Result<int> resume_upload(const cli::Console& console, TracingOptions options,
                          const std::string& tree);

} // namespace iotrail::compat::iotrc

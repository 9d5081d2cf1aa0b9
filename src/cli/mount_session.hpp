// SPDX-License-Identifier: BSD-3-Clause
//
// A recording of a mounted directory, from the mount to the summary.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "capture/request/request.hpp"
#include "capture/source.hpp"
#include "cli/console.hpp"
#include "cli/summary_output.hpp"

namespace iotrail::cli {

struct MountSession {
  SummaryOptions summary;
  bool quiet = false;
};

// With absolute paths, without links in them; still without a trace.
capture::RecordingRequest mount_request(const std::filesystem::path& backend,
                                        const std::filesystem::path& point);

// Mounts, serves until a signal or an unmount, prints the summary. Returns the exit status.
Result<int> serve_mount(const Console& console, const capture::RecordingRequest& request,
                        std::vector<std::unique_ptr<capture::Source>> sources,
                        const MountSession& session);

} // namespace iotrail::cli

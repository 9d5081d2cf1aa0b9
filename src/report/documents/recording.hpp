// SPDX-License-Identifier: BSD-3-Clause
//
// The summary of a recording that has just ended.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "report/document.hpp"
#include "store/format/manifest.hpp"
#include "trail/trails.hpp"

namespace iotrail::output {

struct RecordingSummary {
  std::filesystem::path trace;
  std::string_view next = "iotrail report {}";    // the command that reads it; {}: the trace
  std::vector<std::string_view> left_out{};       // events that only --events would have recorded
  std::optional<trail::CompletedBytes> devices{}; // of what the devices completed; unset: unknown
  bool is_full = false;                           // all there is to say, instead of three lines
  bool is_snapshot = false;                       // three lines, and how much was found of what
};

Document make_recording_summary(const store::Manifest& manifest, const RecordingSummary& summary);

// What can change an answer, for a recording without a summary: the recorder failed, events were
// lost or may be missing, processes are no longer recorded.
std::vector<Sentence> recording_warnings(const store::Manifest& manifest);

} // namespace iotrail::output

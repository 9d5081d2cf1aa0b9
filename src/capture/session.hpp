// SPDX-License-Identifier: BSD-3-Clause
//
// One recording from its begin to its end: starts the command and the sources, drains them into the trace, keeps the
// limits, counts the losses where they happen in time, and closes the trace with an account that adds up.
//
// Signals: SIGINT and SIGTERM end the recording cleanly; a command that runs is sent the signal and recorded until it
// ends, since its last events are the ones that matter. A second one ends the recording at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "capture/command.hpp"
#include "capture/source.hpp"
#include "store/manifest.hpp"

namespace iotrail::capture {

struct Limits {
  std::uint64_t time_ns = 0; // 0: none. The recording ends; the command goes on and is waited for
  std::uint64_t size_bytes = 0; // of the trace on disk, as above
};

struct SessionOptions {
  std::filesystem::path trace;
  std::vector<std::string> command; // empty: the filter names what runs already
  SourceOptions source;
  Limits limits;
  std::vector<std::string> filters_text; // for the manifest, in the words of the command line
  std::vector<std::string> limits_text;
  std::map<std::string, std::string> tags;
};

// A source that could not be used, and why; the others record.
struct Refusal {
  std::string source;
  Error error;
};

struct SessionSummary {
  store::Manifest manifest; // as it was written at the end
  std::vector<Refusal> refusals;
  std::optional<int> command_status;
  int stop_signal = 0; // the signal that ended the recording, or 0
};

// Called once all sources are ready and before the command begins.
using OnBegin = void (*)(const store::Manifest& manifest, const std::vector<Refusal>& refusals);

// `sources` that cannot open are left out and told; with none left nothing is recorded and the error says why.
Result<SessionSummary> run_session(const SessionOptions& options,
                                   std::vector<std::unique_ptr<Source>> sources, OnBegin on_begin);

} // namespace iotrail::capture

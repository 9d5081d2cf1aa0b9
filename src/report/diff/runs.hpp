// SPDX-License-Identifier: BSD-3-Clause
//
// What `diff` compares of each trace: its operations in groups, each with sums, quantiles and a
// bounded sample of durations. No trace stays open.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"
#include "report/warnings.hpp"

namespace iotrail::output {

// Operations by their call, by the kind of files, by program: calls on files. By device: its requests.
enum class DiffBy : std::uint8_t { call, file, process, device };
std::optional<DiffBy> diff_by(std::string_view name);

struct Operations {
  // The smallest name of what the group covers, and the largest: they differ if it covers several
  // files with numbered names. Long ones are kept once.
  std::string first_name{}; // empty: the key
  std::string last_name{};  // empty: the first
  std::uint64_t count = 0;
  std::uint64_t errors = 0;
  std::uint64_t total_ns = 0; // the sum of durations, over all threads
  std::uint64_t bytes = 0;
  std::uint64_t max_ns = 0;
  std::vector<std::uint64_t> quantiles_ns{}; // exact, by kDiffQuantiles
  std::vector<std::uint64_t> durations_ns{}; // a random sample, sorted; at most kSampleSize
};
inline constexpr double kDiffQuantiles[] = {0.5, 0.9, 0.99, 0.999};
inline constexpr std::size_t kSampleSize = 4000;

struct Run {
  std::string trace;   // its path
  std::string command; // "": unknown
  std::uint64_t duration_ns = 0;
  Operations all; // of all groups
  std::map<std::string, Operations, std::less<>> groups{};
  bool has_all_groups = true; // false: only the kMostGroups that took most time
  std::uint64_t device_read_bytes = 0;
  std::uint64_t device_written_bytes = 0;
  bool has_devices = false; // whether requests were recorded
  std::string layers{};     // the recorded layers
  Completeness completeness{};
  std::vector<Sentence> warnings{};
};
inline constexpr std::size_t kMostGroups = 100'000;

// An error for a trace of `stat` or of snapshots, which have no single operations.
Result<Run> read_run(analysis::Engine& engine, DiffBy by);

// The engine options with which read_run() is fast.
analysis::EngineOptions diff_engine_options(analysis::EngineOptions options);

} // namespace iotrail::output

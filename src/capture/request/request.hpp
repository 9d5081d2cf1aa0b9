// SPDX-License-Identifier: BSD-3-Clause
//
// A recording as it is asked for: what, within which limits, to where. The command line fills it, and the manifest keeps it as
// JSON. Another driver of recordings sends that JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "capture/selection/filter.hpp"

namespace iotrail::capture {

// 0: no limit.
struct Limits {
  std::uint64_t time_ns = 0;    // since the recording began
  std::uint64_t size_bytes = 0; // of the trace's segments; what the rings hold by then still comes
  bool until_sources_end = false; // when nothing more will come of any
};

struct SnapshotWanted {
  iot_u32 kind = 0;            // a number of the value table `snapshot_kind`
  std::filesystem::path root;  // for a file system
  std::uint64_t period_ns = 0; // 0: once
};

struct SnapshotOptions {
  std::vector<SnapshotWanted> wanted;
  // File systems become deltas of these traces: one with full snapshots, then its continuations. A
  // file system without a root then means all roots in these traces.
  std::vector<std::filesystem::path> since;
};

// Events are added up, and not recorded.
struct Aggregation {
  std::uint64_t interval_ns = 0; // 0: events are recorded
  std::size_t rows = 0;          // as in AggregateOptions
};

// A directory that is mounted elsewhere, so that calls on it are recorded.
struct MountOptions {
  std::filesystem::path backend; // absolute
  std::filesystem::path point;   // absolute
  bool caches = false;           // the kernel may answer calls itself; these are not recorded
  std::filesystem::path text;    // also lines of IOTraceCollector, to this new file; empty: none
  bool flushes_text = false;     // each line before its call continues
  bool pads_text = true;         // microseconds with leading zeros
};

struct RecordingRequest {
  std::vector<std::string> command; // to run; empty: the filter names what runs already
  Filter filter;                    // but for tree_root, which is not known before the command runs
  bool drop_arguments = false;      // of programs, from command lines that the trace keeps
  bool follow = false;              // also after the command, until all that it started has ended
  Limits limits;
  std::size_t ring_bytes = 0; // as in SourceOptions
  SnapshotOptions snapshot;
  Aggregation aggregation;
  MountOptions mount;
  std::filesystem::path trace; // must not exist
  std::map<std::string, std::string> tags;
};

// An object without the members that have their default values. Bytes that are not UTF-8 become U+FFFD.
std::string to_json(const RecordingRequest& request);
// As the manifest keeps it: without the command's arguments if the request drops them.
std::string kept_json(RecordingRequest request);

// Refuses a key that is not known, a value of another type or out of range, and names that the schema does not have; the error
// names the key ("filter.layers").
Result<RecordingRequest> request_from_json(std::string_view text);

} // namespace iotrail::capture

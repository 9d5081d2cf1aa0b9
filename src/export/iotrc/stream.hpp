// SPDX-License-Identifier: BSD-3-Clause
//
// The streams of IO Tracer: CSV files with fixed columns. Both layouts of the original come from the
// same rows; they differ in columns and in the case of some words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace iotrail::output::iotrc {

// The current layout (schema version 1), or the one before it.
enum class Era : std::uint8_t { current, seed };

struct Column {
  std::string_view name;
  std::string_view type;
  std::string_view unit;
  std::string_view description;
  std::string_view sql; // over the rows of the stream; "": the time of `at_ns` as a date
};

struct Stream {
  std::string_view name; // also the directory, and the begin of names of files
  std::string_view description;
  std::string_view wall_clock; // of the column with the date
  std::vector<Column> columns;
  std::string
      rows; // SQL of a relation with the column `at_ns` (CLOCK_MONOTONIC), in the order of time
};

// A text column of a stream's rows, or its pseudonym.
struct Names {
  bool are_hidden = false;
  // Each part of a path as 12 digits of its SHA-256; extensions, a leading slash and the depth stay.
  std::string path(std::string_view sql) const;
  std::string text(std::string_view sql) const;
};

// Of both eras: those that the tracer of that era wrote or documented, in the order of its manifest.
std::vector<Stream> streams(Era era, const Names& names);

// Parts of these, by topic.
void add_file_streams(Era era, const Names& names, std::vector<Stream>& all);
void add_device_streams(Era era, const Names& names, std::vector<Stream>& all);
void add_network_streams(Era era, const Names& names, std::vector<Stream>& all);
void add_uring_streams(Era era, const Names& names, std::vector<Stream>& all);
void add_process_streams(Era era, const Names& names, std::vector<Stream>& all);
// Rows of each snapshot are files of their own: the relation has the column `snapshot`.
Stream file_snapshot_stream(Era era, const Names& names);

// What many have.
inline constexpr std::string_view kEventClock =
    "CLOCK_REALTIME (derived from kernel CLOCK_MONOTONIC)";
inline constexpr Column kTimestamp = {"timestamp", "datetime", "", "Time of the event, in UTC.",
                                      ""};
inline constexpr Column kMonoNs = {"mono_ns", "u64", "nanoseconds", "CLOCK_MONOTONIC.", "at_ns"};

// The program of a process `alias` at the time `at`, by an ASOF join.
std::string program_join(std::string_view alias, std::string_view pid, std::string_view at);

} // namespace iotrail::output::iotrc

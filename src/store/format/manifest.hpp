// SPDX-License-Identifier: BSD-3-Clause
//
// manifest.json: what a trace says about itself. The recorder writes it at the start (state
// INITIALIZING), when events begin (RUNNING), and at the end. It replaces the file by rename, so
// that a reader never sees half of one. The manifest ends with a checksum; a wrong or missing one
// is damage (manifest_text.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "schema.hpp"

namespace iotrail::store {

// A column as the trace describes it. Another version of iotrail may have more or fewer columns for
// the same event.
struct ColumnInfo {
  std::string name;
  schema::Type type;
  schema::Meaning meaning; // `number` if this version does not know the trace's meaning
  schema::Role role = schema::Role::none;
};

// Names a column by its role in `events`, by the meaning of its numbers, or, if no other event has
// such a column, by its name.
using ColumnKey = std::variant<schema::Role, schema::Meaning, std::string_view>;

struct TableInfo {
  iot_u16 kind;
  std::string name; // small letters, digits and underscores, as in names of layers and columns
  std::string layer;
  std::vector<ColumnInfo> columns;

  // -1: no such column.
  int column(std::string_view name) const;
  // The column with the role; nullptr: there is none.
  const ColumnInfo* column(schema::Role role) const;
  // The first column with the meaning; nullptr: there is none. Later versions add columns only
  // behind it.
  const ColumnInfo* column(schema::Meaning meaning) const;
  // -1: no such column.
  int index(const ColumnKey& key) const;
  bool is_dictionary() const;
};

// No recorder writes INCOMPLETE: the reader reports it for a trace without an end if its recorder
// is gone.
enum class State { INITIALIZING, RUNNING, COMPLETE, INCOMPLETE, ERROR };

// One event and the hook that serves it.
struct HookReport {
  std::string event;
  std::string source;
  std::string tier;   // "T", "F", "K"; "" for the preload source
  std::string hook;   // "tp_btf/block_rq_complete"; empty: no hook serves it
  std::string reason; // why preferred hooks, or all, were refused; empty: the first choice serves
  std::string remedy; // how to lift the refusal; may be empty
};

// The remedy if the request is the reason, and not the machine.
inline constexpr std::string_view kAskForOther = "record a command, without such a filter";

// The same hooks, all refused: their source as a whole was unusable.
std::vector<HookReport> refused(std::vector<HookReport> hooks, const Error& error);

struct SourceTally {
  std::string name;
  std::uint64_t produced = 0; // == written + lost, always
  std::uint64_t written = 0;
  std::uint64_t lost = 0;
  std::uint64_t summed_up = 0; // part of `written`: counted only in the table `event_sums`
  std::uint64_t left_out = 0;  // not in `produced`: events of operations below a threshold
};

// Which requests of a disk a recording has: none, those for the followed tasks and files, or all.
enum class DiskCoverage { none, followed, all };
std::string_view coverage_name(DiskCoverage coverage); // "followed"

// Sums over the completed requests of a disk.
struct DiskSums {
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0; // also of zeroes
  std::uint64_t discarded_bytes = 0;
  std::uint64_t flushes = 0;

  bool operator==(const DiskSums&) const = default;
};

// What a disk counted by itself while it was recorded.
struct DiskReport {
  std::string name;
  std::uint64_t device = 0; // as in the events
  DiskCoverage recorded = DiskCoverage::none;
  std::uint64_t begin_ns = 0; // CLOCK_MONOTONIC: when its counters were read
  std::uint64_t end_ns = 0;
  DiskSums sums;               // from `begin_ns` to `end_ns`
  std::uint64_t in_flight = 0; // requests at the device at `begin_ns`
  std::uint64_t request_max_bytes = 0;
};

// JSON inside a manifest that this folder does not read.
struct JsonText {
  std::string json; // empty: none
};

struct Manifest {
  static constexpr int kFormatVersion = 1;
  // Limit for hooks, sources, disks, counts, counters and tags each. No recording comes near it; it bounds
  // a reader's time.
  static constexpr std::size_t kNamesMax = 4096;

  int format_version = kFormatVersion;
  std::string iotrail_version;
  std::string trace_id; // 32 hex digits
  State state = State::INITIALIZING;
  std::string
      stop_reason; // "command ended", "interrupted", "time limit", "size limit", "disk full: ..."

  // recorded from its start, or the command of the first process named
  std::vector<std::string> command;
  int command_status = -1; // exit status as a shell shows it; -1: none or not known
  // CPU time of the command and of all children that it and they waited for, in programs and in the
  // kernel, with what recording added. Both 0: not known.
  std::uint64_t command_user_ns = 0;
  std::uint64_t command_system_ns = 0;
  std::string host;
  std::string kernel;
  std::string machine;
  int cpu_count = 0;
  std::int64_t recorder_pid = 0;

  std::uint64_t begin_ns = 0; // CLOCK_MONOTONIC
  std::uint64_t end_ns = 0;   // 0: not ended
  std::int64_t monotonic_to_real_ns = 0;

  std::vector<std::string> layers; // requested layers
  JsonText request; // of the recording (capture/request/request.hpp); older traces have none
  std::vector<std::string> filters; // as on the command line
  std::uint32_t sample_of = 0; // one system call of this many was recorded, by chance; 0: all were
  std::vector<std::string> limits;
  std::vector<std::string>
      not_followed; // programs that a source did not see into, "PID PROGRAM: why"
  std::vector<std::string> still_running; // traced processes that went on after the end, "PID NAME"
  std::vector<std::string>
      unsupported_file_systems; // of files that were used, those that the layer fs has no event of
  std::vector<HookReport> hooks;
  std::vector<SourceTally> sources;
  std::vector<DiskReport> disks;
  std::map<std::string, std::uint64_t> counts;   // rows by event name
  std::map<std::string, std::uint64_t> counters; // stats.def, those that are not 0
  std::map<std::string, std::string> tags;

  // size of all segments: the size of a trace, everywhere in the output
  std::uint64_t events_bytes = 0;
  std::uint64_t recorder_cpu_ns = 0;
  std::uint64_t recorder_memory_bytes = 0; // peak resident set
  std::uint64_t ring_memory_bytes = 0;

  std::int64_t begin_real_ns() const; // CLOCK_REALTIME
  // events and losses are counted, which happens when a recording ends
  bool is_counted() const;
  std::uint64_t events() const;    // events with a row of their own
  std::uint64_t summed_up() const; // events that only the table `event_sums` counts
  std::uint64_t counted(schema::Severity severity) const; // sum of the counters of this severity
  std::uint64_t lost() const;                             // missing events
  std::uint64_t left_out() const;                         // events of operations below a threshold
  std::uint64_t gaps() const; // occasions at which events may be missing

  std::vector<std::string> layers_refused() const; // requested layers without any hook
};

std::string_view state_name(State state);

std::string to_json(const Manifest& manifest); // includes the schema of this version

// A stored manifest, with the schema of the version that wrote it.
struct StoredManifest {
  Manifest manifest;
  std::vector<TableInfo> tables;
};
Result<StoredManifest> manifest_from_json(std::string_view text);

std::vector<TableInfo> builtin_schema();

// The text of a manifest with one tag set or, if `value` is empty, removed. All else stays, above
// all the schema, which only another version may know. Fails if the manifest has the maximum number
// of tags.
Result<std::string> with_tag(std::string_view text, const std::string& name,
                             const std::string& value);

Result<void> write_manifest(const std::filesystem::path& trace, const Manifest& manifest);

// Returns state INCOMPLETE for a trace in state RUNNING if its recorder is gone.
Result<StoredManifest> read_stored_manifest(const std::filesystem::path& trace);
Result<Manifest> read_manifest(const std::filesystem::path& trace);

} // namespace iotrail::store

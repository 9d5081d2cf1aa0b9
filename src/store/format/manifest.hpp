// SPDX-License-Identifier: BSD-3-Clause
//
// manifest.json: what a trace says about itself. Written at the start (state INITIALIZING), when events begin
// (RUNNING), and at the end; replaced as a whole by rename, so a reader never sees half of one. It ends with a checksum:
// one that does not fit, or is not there, is damage (manifest_text.hpp).
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

// A column as the trace describes it: events of other versions of iotrail may have more or fewer than ours.
struct ColumnInfo {
  std::string name;
  schema::Type type;
  schema::Meaning meaning; // `number` where this version does not know the trace's
  schema::Role role = schema::Role::none;
};

// A column by what it is to its event, by what its numbers stand for, or, of what no other event tells, by its name.
using ColumnKey = std::variant<schema::Role, schema::Meaning, std::string_view>;

struct TableInfo {
  iot_u16 kind;
  std::string name; // of small letters, digits and underscores, as those of layer and columns
  std::string layer;
  std::vector<ColumnInfo> columns;

  // -1: no such column.
  int column(std::string_view name) const;
  // The column with the role; nullptr: there is none.
  const ColumnInfo* column(schema::Role role) const;
  // The first column of the meaning; nullptr: there is none. A later version adds columns behind it only.
  const ColumnInfo* column(schema::Meaning meaning) const;
  // -1: no such column.
  int index(const ColumnKey& key) const;
  bool is_dictionary() const;
};

// INCOMPLETE is never written by a recorder: the reader says it of a trace whose recorder is gone without an end.
enum class State { INITIALIZING, RUNNING, COMPLETE, INCOMPLETE, ERROR };

// One event and what serves it.
struct HookReport {
  std::string event;
  std::string source;
  std::string tier;   // "T", "F", "K"; of the preload source ""
  std::string hook;   // "tp_btf/block_rq_complete"; empty: nothing serves it
  std::string reason; // why preferred hooks, or all, were refused; empty: the first choice serves
  std::string remedy; // what would lift the refusal; may be empty
};

// The remedy where what was asked for is the reason, and not the machine.
inline constexpr std::string_view kAskForOther = "record a command, without such a filter";

// The same hooks where their source as a whole could not be used.
std::vector<HookReport> refused(std::vector<HookReport> hooks, const Error& error);

struct SourceTally {
  std::string name;
  std::uint64_t produced = 0; // == written + lost, always
  std::uint64_t written = 0;
  std::uint64_t lost = 0;
  std::uint64_t summed_up =
      0; // of `written`, those that the table `event_sums` tells of, and no row of their own
  std::uint64_t left_out =
      0; // not in `produced`: of operations that took or moved less than was wanted
};

struct Manifest {
  static constexpr int kFormatVersion = 1;
  // Of hooks, sources, counts, counters and tags each: far more than any recording has; a reader takes time for each.
  static constexpr std::size_t kNamesMax = 4096;

  int format_version = kFormatVersion;
  std::string iotrail_version;
  std::string trace_id; // 32 hex digits
  State state = State::INITIALIZING;
  std::string
      stop_reason; // "command ended", "interrupted", "time limit", "size limit", "disk full: ..."

  std::vector<std::string> command; // recorded from its start, or that of the first process named
  int command_status = -1;          // wait status as a shell shows it; -1: none or not known
  std::string host;
  std::string kernel;
  std::string machine;
  int cpu_count = 0;
  std::int64_t recorder_pid = 0;

  std::uint64_t begin_ns = 0; // CLOCK_MONOTONIC
  std::uint64_t end_ns = 0;   // 0: not ended
  std::int64_t monotonic_to_real_ns = 0;

  std::vector<std::string> layers;  // that were asked for
  std::vector<std::string> filters; // in the words of the command line
  std::uint32_t sample_of = 0; // system calls of which one was recorded, by chance; 0: all were
  std::vector<std::string> limits;
  std::vector<std::string>
      not_followed; // programs that a source did not see into, "PID PROGRAM: why"
  std::vector<std::string> still_running; // traced processes that went on after the end, "PID NAME"
  std::vector<std::string>
      bare_file_systems; // of files that were used, those that the layer fs has no event of
  std::vector<HookReport> hooks;
  std::vector<SourceTally> sources;
  std::map<std::string, std::uint64_t> counts;   // rows by event name
  std::map<std::string, std::uint64_t> counters; // stats.def, those that are not 0
  std::map<std::string, std::string> tags;

  std::uint64_t events_bytes = 0; // of all segments: the size of a trace, wherever one is told
  std::uint64_t recorder_cpu_ns = 0;
  std::uint64_t recorder_memory_bytes = 0; // peak resident set
  std::uint64_t ring_memory_bytes = 0;

  std::int64_t begin_real_ns() const; // CLOCK_REALTIME
  bool is_counted() const;            // events and losses are, which is done when a recording ends
  std::uint64_t events() const;       // with a row of their own
  std::uint64_t summed_up() const;    // those that only the table `event_sums` tells of
  std::uint64_t counted(schema::Severity severity) const; // the sum of such counters
  std::uint64_t lost() const;                             // events that are missing
  std::uint64_t left_out() const; // events of operations that took or moved too little
  bool excludes_calls() const;    // of what is recorded: those may have written, too
  std::uint64_t gaps() const;     // occasions at which events may be missing

  std::vector<std::string>
  layers_refused() const; // of `layers`, those of which no hook serves any event
};

std::string_view state_name(State state);

std::string to_json(const Manifest& manifest); // with the schema of this version inside

// A manifest as it lies in a trace: with the schema of the version that wrote it.
struct StoredManifest {
  Manifest manifest;
  std::vector<TableInfo> tables;
};
Result<StoredManifest> manifest_from_json(std::string_view text);

std::vector<TableInfo> builtin_schema();

// The text of a manifest with one tag set or, with an empty value, removed. All else stays, also what only another version
// of iotrail knows: its schema above all. Refuses one tag more than a manifest may have.
Result<std::string> with_tag(std::string_view text, const std::string& name,
                             const std::string& value);

Result<void> write_manifest(const std::filesystem::path& trace, const Manifest& manifest);

// A state RUNNING whose recorder is gone is returned as INCOMPLETE.
Result<StoredManifest> read_stored_manifest(const std::filesystem::path& trace);
Result<Manifest> read_manifest(const std::filesystem::path& trace);

} // namespace iotrail::store

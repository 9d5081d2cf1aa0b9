// SPDX-License-Identifier: BSD-3-Clause
#include "watch/documents.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "report/section.hpp"

namespace iotrail::watch {
namespace {

using output::ColumnDefinition;
using output::Meaning;
using output::Value;

constexpr ColumnDefinition kEntryColumns[] = {
    {.title = "after", .name = "after_ns", .meaning = Meaning::ns},
    {.title = "", .name = "ts_ns"},
    {.title = " ", .name = "direction"},
    {.title = "by", .name = "layer"},
    {.title = "position", .name = "position", .meaning = Meaning::id},
    {.title = "sector", .name = "sector", .meaning = Meaning::id},
    {.title = "bytes", .name = "bytes", .meaning = Meaning::bytes},
    {.title = "process", .name = "comm"},
    {.title = "pid", .name = "pid", .meaning = Meaning::id},
};

constexpr ColumnDefinition kFileColumns[] = {
    {.title = "log", .name = "name"},
    {.title = "state", .name = "state"},
    {.title = "entries", .name = "entries", .meaning = Meaning::count},
    {.title = "of", .name = "entries_max", .meaning = Meaning::count},
    {.title = "", .name = "zero_ns"},
    {.title = "path", .name = "path", .meaning = Meaning::path},
};

std::vector<Value> row_of(const LogEntry& entry, std::uint64_t zero_ns) {
  return {entry.ts_ns - std::min(entry.ts_ns, zero_ns),
          entry.ts_ns,
          std::string(entry.is_read ? "read" : "write"),
          std::string(entry.is_bio ? "block" : "call"),
          entry.is_bio ? Value() : Value(entry.address),
          entry.is_bio ? Value(entry.address) : Value(),
          entry.bytes,
          entry.comm,
          std::uint64_t{entry.pid}};
}

} // namespace

std::vector<output::Sentence> missing_of(const LogCopy& log) {
  std::vector<output::Sentence> missing;
  if (log.lost != 0)
    missing.push_back(output::sentence(
        "{lost} EVENTS LOST of all watched files: the log may lack some. The load was higher than "
        "the watcher can read, or the watcher was stopped, or a recording failed.",
        {output::count_value("lost", log.lost)}));
  if (!log.failure.empty())
    missing.push_back(output::sentence("A recording failed: {failure}. The log lacks what happened "
                                       "until another one began.",
                                       {output::text_value("failure", log.failure)}));
  return missing;
}

output::Document make_log(const std::string& path, const LogCopy& log) {
  std::vector<std::vector<Value>> rows;
  for (const LogEntry& entry : log.entries)
    rows.push_back(row_of(entry, log.zero_ns));
  output::Section section = output::make_table("entries", "", kEntryColumns, std::move(rows));
  if (log.entries.empty())
    section.notes.push_back(
        output::sentence("No reads or writes of {path} so far.", {{"path", path, Meaning::path}}));
  else
    section.notes.push_back(
        output::sentence("Times count from the begin of the log. Sectors of 512 bytes count from "
                         "the begin of the file system's device."));
  return {.warnings = missing_of(log), .sections = {std::move(section)}};
}

output::Document make_file_list(std::span<const LogState> states) {
  std::vector<std::vector<Value>> rows;
  for (const LogState& state : states)
    for (const std::string& path : state.paths)
      rows.push_back({state.name, std::string(state.is_enabled ? "on" : "stopped"),
                      std::uint64_t{state.entries}, std::uint64_t{state.most}, state.zero_ns,
                      path});
  output::Section section = output::make_table("files", "", kFileColumns, std::move(rows));
  if (states.empty())
    section.notes.push_back(
        output::sentence("No file is watched. `iotrail watch add PATH` adds one."));
  return {.sections = {std::move(section)}};
}

output::Document make_status(const WatchStatus& status) {
  output::Document document{
      .title =
          output::sentence(status.files == 1 ? "WATCHES {files} FILE" : "WATCHES {files} FILES",
                           {output::count_value("files", status.files)})};
  document.facts.push_back(
      {"runs", output::only(output::count_value("recordings", status.recordings))});
  document.facts.push_back(
      {"trace", output::only(output::bytes_value("trace_bytes", status.trace_bytes))});
  document.facts.push_back(
      {"lost", output::sentence("{lost} events", {output::count_value("lost", status.lost)})});
  if (!status.failure.empty())
    document.warnings.push_back(output::sentence("A recording failed: {failure}",
                                                 {output::text_value("failure", status.failure)}));
  return document;
}

} // namespace iotrail::watch

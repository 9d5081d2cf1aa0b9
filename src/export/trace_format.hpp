// SPDX-License-Identifier: BSD-3-Clause
//
// A format of other programs for a whole trace. Each is one file, traces/<format>.cpp, which
// defines `extern const TraceFormat kTraceFormat<Format>`. The build finds it; no list names it.
// traces/folded.cpp is the simplest and serves as the model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "analysis/engine/engine.hpp"
#include "base/result.hpp"
#include "export/output_directory.hpp"
#include "text/sink.hpp"

namespace iotrail::output {

// What the width of a stack stands for.
enum class Weight : std::uint8_t { time, bytes };

struct TraceInput {
  analysis::Engine& engine;
  Weight weight = Weight::time;
  std::string op{}; // of formats that show one operation, as op_text() prints it; "": the slowest
};

struct TraceFormat {
  std::string_view name;
  std::string_view suffix;         // of its files, without the dot
  std::string_view doc;            // the programs that read it
  std::string_view omits;          // what the trace has and the format lacks; a sentence
  std::string_view http_type = {}; // for servers that take it by POST; empty: none does
  bool is_binary = false;          // not for terminals
  bool has_weight = false;         // it draws stacks: TraceInput::weight chooses their width
  bool has_op = false;             // it shows one operation: TraceInput::op
  // One of these: a stream, files of a directory, or a file that a library writes by its path.
  Result<void> (*write)(const TraceInput& input, Sink& sink) = nullptr;
  Result<void> (*write_files)(const TraceInput& input, const OutputDirectory& directory) = nullptr;
  Result<void> (*write_path)(const TraceInput& input, const std::filesystem::path& path) = nullptr;

  bool needs_path() const { return write == nullptr; }
};

// All of them, in the order of their files. The build generates this function.
std::span<const TraceFormat* const> trace_formats();

// nullptr: no such format
inline const TraceFormat* find_trace_format(std::string_view name) {
  const auto found = std::ranges::find(trace_formats(), name, &TraceFormat::name);
  return found == trace_formats().end() ? nullptr : *found;
}

} // namespace iotrail::output

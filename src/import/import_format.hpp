// SPDX-License-Identifier: BSD-3-Clause
//
// A format of another program that becomes a trace. Each is one file, formats/<format>.cpp, which
// defines `extern const ImportFormat kImportFormat<Format>`. The build finds it; no list names it.
// formats/oracle.cpp is the simplest and serves as the model.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "import/input.hpp"
#include "import/trace_builder.hpp"

namespace iotrail::import {

struct ImportFormat {
  std::string_view name;
  std::string_view doc;   // the programs that write it
  std::string_view lacks; // what the trace therefore does not know; a sentence
  // Whether a file that begins with `head` has this format. nullptr: nothing in it says so, and the
  // user must name the format. `name` is the path of the file.
  bool (*recognizes)(std::string_view head, std::string_view name);
  // Reads all inputs, in the order of time where they have one. Reports malformed records to the
  // builder and continues. Fails only if a file cannot be read.
  Result<void> (*read)(std::span<Input> inputs, TraceBuilder& trace);
};

// All of them, in the order of their files. The build generates this function.
std::span<const ImportFormat* const> import_formats();

// nullptr: no such format
inline const ImportFormat* find_import_format(std::string_view name) {
  const auto found = std::ranges::find(import_formats(), name, &ImportFormat::name);
  return found == import_formats().end() ? nullptr : *found;
}

} // namespace iotrail::import

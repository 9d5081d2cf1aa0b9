// SPDX-License-Identifier: BSD-3-Clause
//
// A trace's tables in a plain format, streaming, in the order of time. Columns come from the trace's schema.
// Ids are replaced by what they stand for: files and paths by their text, devices, flags, calls by their names; with
// `raw` every number stays as it is stored. What is not known (file 0) is NULL.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string_view>

#include "base/result.hpp"
#include "export/format.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::output {

struct ExportOptions {
  const Format* format = nullptr;
  bool raw = false;
};

// All return the number of rows written.

// One table of the trace: an event or a dictionary.
Result<std::uint64_t> export_table(const store::TraceReader& trace, const store::TableInfo& table,
                                   const ExportOptions& options, std::FILE* file);

// Every table that has rows as <directory>/<table>.<format>. Makes the directory; refuses to replace files.
Result<std::uint64_t> export_directory(const store::TraceReader& trace,
                                       const ExportOptions& options,
                                       const std::filesystem::path& directory);

// Everything as one stream, in a format of streams: the dictionary tables first, then all events in the order of time. The
// column "event" has the name of a row's table.
Result<std::uint64_t> export_stream(const store::TraceReader& trace, const ExportOptions& options,
                                    std::FILE* file);

} // namespace iotrail::output

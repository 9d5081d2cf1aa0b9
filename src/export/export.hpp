// SPDX-License-Identifier: BSD-3-Clause
//
// A trace's tables in a plain format, streamed, in the order of time. Columns come from the trace's
// schema. Ids are replaced: by paths for files, and by names for devices, flags and calls. With
// `raw` all numbers stay as stored. Unknown values (file 0) are NULL.
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

// Writes every table with rows to <directory>/<table>.<format>. Makes the directory, and refuses to
// replace files.
Result<std::uint64_t> export_directory(const store::TraceReader& trace,
                                       const ExportOptions& options,
                                       const std::filesystem::path& directory);

// Writes everything as one stream, in a format of streams: first the dictionary tables, then all
// events in the order of time. The column "event" has the name of a row's table.
Result<std::uint64_t> export_stream(const store::TraceReader& trace, const ExportOptions& options,
                                    std::FILE* file);

} // namespace iotrail::output

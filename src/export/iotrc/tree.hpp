// SPDX-License-Identifier: BSD-3-Clause
//
// The tree of IO Tracer: <first>/<MACHINE>/<DATE>/<stream>/<stream>_<DATE>_<NUMBER>.csv.zst, with
// manifest.json and system_spec/ beside the streams.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "base/result.hpp"
#include "export/iotrc/compressed_file.hpp"
#include "export/iotrc/stream.hpp"
#include "export/output_directory.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output::iotrc {

// A new file begins before the row that would pass one of these.
struct PartLimits {
  std::uint64_t rows = 100'000;
  std::uint64_t age_ns = 300'000'000'000; // between the times of its first and last row
  std::uint64_t size_bytes = 100'000'000; // of its text, before compression
};

struct Options {
  Era era = Era::current;
  Compression compression = Compression::zstd;
  PartLimits limits;
  bool hides_names = false;
  std::string machine; // hexadecimal id; empty: from the name of the host
};

struct Written {
  std::filesystem::path session;             // relative to the directory
  std::map<std::string, std::uint64_t> rows; // by stream
};

// Every stream with rows, from the trace of `input`. The directory exists.
Result<Written> write_tree(const TraceInput& input, const Options& options,
                           const OutputDirectory& directory);

} // namespace iotrail::output::iotrc

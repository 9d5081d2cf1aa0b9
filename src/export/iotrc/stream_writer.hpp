// SPDX-License-Identifier: BSD-3-Clause
//
// The rows of a stream as files of the tree.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "export/iotrc/new_files.hpp"
#include "export/iotrc/tree.hpp"
#include "store/format/manifest.hpp"

namespace iotrail::output::iotrc {

// Of CLOCK_MONOTONIC as nanoseconds since 1970.
std::uint64_t real_ns_of(const store::Manifest& manifest, std::uint64_t at_ns);

// Parts of the stream, in the folder `session`. Adds to the tally.
Result<void> write_stream(const TraceInput& input, const Options& options, NewFiles& files,
                          const std::string& session, const Stream& stream, StreamTally& tally);

// Each snapshot of files has parts of its own; the name of the last one has their number.
Result<void> write_file_snapshots(const TraceInput& input, const Options& options, NewFiles& files,
                                  const std::string& session, const std::string& machine,
                                  const Stream& stream, StreamTally& tally);

} // namespace iotrail::output::iotrc

// SPDX-License-Identifier: BSD-3-Clause
#include "export/iotrc/tree.hpp"

namespace iotrail::output {
namespace {

Result<void> write_iotrc(const TraceInput& input, const OutputDirectory& directory) {
  const auto written = iotrc::write_tree(input, {}, directory);
  return written ? Result<void>() : std::unexpected(written.error());
}

} // namespace

extern const TraceFormat kTraceFormatIotrc = {
    .name = "iotrc",
    .suffix = "iotrc",
    .doc = "the tree of IO Tracer (iotrc) in its current layout",
    .omits = "waits, the causes of device I/O, calls into the C library, and all calls that IO "
             "Tracer has no row for",
    .is_binary = true,
    .write_files = write_iotrc,
};

} // namespace iotrail::output

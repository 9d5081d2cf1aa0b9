// SPDX-License-Identifier: BSD-3-Clause
#include "cli/face.hpp"
#include "compat/io_trace/command_line.hpp"

namespace iotrail::cli {

extern const Face kFaceIotracepy = {
    .name = "io_trace.py",
    .summary = "IOTraceCollector",
    .run = compat::io_trace::run,
};

} // namespace iotrail::cli

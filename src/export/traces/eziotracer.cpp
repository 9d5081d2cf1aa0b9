// SPDX-License-Identifier: BSD-3-Clause
#include "export/model/level_rows.hpp"

namespace iotrail::output {

extern const TraceFormat kTraceFormatEziotracer = {
    .name = "eziotracer",
    .suffix = "eziotracer.tsv",
    .doc = "reads and writes by level as bcc_iotracer.py of EZIOTracer prints them",
    .omits = "all but reads and writes, calls into the C library, and times of page cache events",
    .write = [](const TraceInput& input, Sink& sink) { return write_level_lines(input, {}, sink); },
};

} // namespace iotrail::output

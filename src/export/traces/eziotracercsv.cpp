// SPDX-License-Identifier: BSD-3-Clause
#include "export/model/level_rows.hpp"

namespace iotrail::output {

extern const TraceFormat kTraceFormatEziotracercsv = {
    .name = "eziotracer-csv",
    .suffix = "eziotracer.csv",
    .doc = "reads and writes by level as iotracer.bt of EZIOTracer prints them",
    .omits = "all but reads and writes, system calls, ends above the block layer, and threads",
    .write = write_level_csv,
};

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
#include "export/otf2/otf2_writer.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {

extern const TraceFormat kTraceFormatOtf2 = {
    .name = "otf2",
    .suffix = "otf2",
    .doc = "an archive of the Open Trace Format 2 for Vampir, otf2-print and python3-otf2",
    .omits = "events without a duration, and spans of a thread that overlap 64 others without "
             "nesting",
    .is_binary = true,
    .write_path = write_otf2,
};

} // namespace iotrail::output

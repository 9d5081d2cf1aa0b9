// SPDX-License-Identifier: BSD-3-Clause
#include "cli/face.hpp"
#include "compat/iotrace/command_line.hpp"

namespace iotrail::cli {

extern const Face kFaceIotrace = {
    .name = "iotrace",
    .summary = "the command line of Open CAS iotrace (standalone-linux-io-tracer)",
    .run = compat::iotrace::run,
};

} // namespace iotrail::cli

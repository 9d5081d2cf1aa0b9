// SPDX-License-Identifier: BSD-3-Clause
#include "cli/face.hpp"
#include "compat/iotrc/command_line.hpp"

namespace iotrail::cli {

extern const Face kFaceIotrc = {
    .name = "iotrc",
    .summary = "IO Tracer (iotrc)",
    .run = compat::iotrc::run,
};

} // namespace iotrail::cli

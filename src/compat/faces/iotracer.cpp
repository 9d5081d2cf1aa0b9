// SPDX-License-Identifier: BSD-3-Clause
#include "cli/face.hpp"
#include "compat/iotracer/command_line.hpp"

namespace iotrail::cli {

extern const Face kFaceIotracer = {
    .name = "iotracer",
    .summary = "the control files of the b-com I/O tracer (a kernel module)",
    .run = compat::iotracer::run,
};

} // namespace iotrail::cli

// SPDX-License-Identifier: BSD-3-Clause
#include "cli/face.hpp"
#include "compat/eziotracer/command_line.hpp"

namespace iotrail::cli {

extern const Face kFaceIotracersh = {
    .name = "iotracer.sh",
    .summary = "its script, which runs a command and records it",
    .run = compat::eziotracer::run_wrapper,
};

} // namespace iotrail::cli

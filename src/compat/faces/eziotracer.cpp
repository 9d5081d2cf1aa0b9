// SPDX-License-Identifier: BSD-3-Clause
#include "cli/face.hpp"
#include "compat/eziotracer/command_line.hpp"

namespace iotrail::cli {

extern const Face kFaceEziotracer = {
    .name = "eziotracer",
    .summary = "the kernel tracer of EZIOTracer (bcc_iotracer.py)",
    .run = compat::eziotracer::run_tracer,
};

} // namespace iotrail::cli

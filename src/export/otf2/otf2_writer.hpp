// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>

#include "export/trace_format.hpp"

namespace iotrail::output {

// Writes a trace as an archive of OTF2: `path` becomes a directory. Fails if iotrail was built
// without the library.
Result<void> write_otf2(const TraceInput& input, const std::filesystem::path& path);

} // namespace iotrail::output

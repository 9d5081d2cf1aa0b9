// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>

#include "export/iotrc/tree.hpp"

namespace iotrail::output::iotrc {

// manifest.json: the streams with their columns, the clock, the session, what was lost.
Result<void> write_manifest(const TraceInput& input, const Options& options,
                            const OutputDirectory& directory, const std::string& machine,
                            std::span<const Stream> streams, const Written& written);

// system_spec/: of the first snapshot of the system; without one, what the trace knows anyway.
Result<void> write_system_spec(const TraceInput& input, const OutputDirectory& directory,
                               const std::string& session);

} // namespace iotrail::output::iotrc

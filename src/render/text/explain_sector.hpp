// SPDX-License-Identifier: BSD-3-Clause
//
// The other way round: from a place of a device, or a request, to the operations that caused it.
#pragma once

#include "analysis/engine/engine.hpp"
#include "render/text/explain_text.hpp"
#include "text/sink.hpp"

namespace iotrail::output {

// With options.sector. Fails if no request read or wrote it.
Result<void> write_sector(analysis::Engine& engine, const ExplainOptions& options, Sink& sink);

// With options.request. Fails where no request of that number was completed, and names the nearest.
Result<void> write_request(analysis::Engine& engine, const ExplainOptions& options, Sink& sink);

} // namespace iotrail::output

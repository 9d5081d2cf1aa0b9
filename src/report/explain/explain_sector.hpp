// SPDX-License-Identifier: BSD-3-Clause
//
// The other way round: from a sector of a device, or a request, to the operations that caused it.
#pragma once

#include "analysis/engine/engine.hpp"
#include "report/explain/explain.hpp"

namespace iotrail::output {

// With options.sector. Fails if no request read or wrote it.
Result<Section> make_sector(analysis::Engine& engine, const ExplainOptions& options);

// With options.request. Fails where no request of that number was completed, and names the nearest.
Result<Section> make_request(analysis::Engine& engine, const ExplainOptions& options);

} // namespace iotrail::output

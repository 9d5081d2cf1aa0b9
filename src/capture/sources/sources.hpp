// SPDX-License-Identifier: BSD-3-Clause
//
// The one table of sources. Which source an event comes from is a fact of its layer (schema/layers.def).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "capture/request/request.hpp"
#include "capture/source.hpp"

namespace iotrail::capture {

struct SourceInfo {
  iot_u32 id; // a number of the value table `source`
  std::unique_ptr<Source> (*make)(const RecordingRequest& request);
};

// In the order in which a recorder opens them.
std::span<const SourceInfo> all_sources();

// Whether a layer of the request comes from the source.
bool needs_source(const RecordingRequest& request, iot_u32 id);

std::vector<std::unique_ptr<Source>> make_sources(const RecordingRequest& request);

} // namespace iotrail::capture

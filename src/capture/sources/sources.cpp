// SPDX-License-Identifier: BSD-3-Clause
#include "capture/sources/sources.hpp"

#include <algorithm>

#include "capture/fuse/fuse_source.hpp"
#include "capture/kernel/kernel_source.hpp"
#include "capture/preload/collector/preload_source.hpp"
#include "capture/snapshot/snapshot_source.hpp"

namespace iotrail::capture {

std::span<const SourceInfo> all_sources() {
  static constexpr SourceInfo kSources[] = {
      // First, since its own files are no I/O of the programs for the others.
      {IOT_source_preload, [](const RecordingRequest&) { return make_preload_source(); }},
      {IOT_source_kernel, [](const RecordingRequest&) { return make_kernel_source(); }},
      {IOT_source_snapshot,
       [](const RecordingRequest& request) { return make_snapshot_source(request.snapshot); }},
      {IOT_source_fuse,
       [](const RecordingRequest& request) { return make_fuse_source(request.mount); }},
  };
  return kSources;
}

bool needs_source(const RecordingRequest& request, iot_u32 id) {
  return std::ranges::any_of(request.filter.layers,
                             [&](schema::Layer layer) { return schema::source_of(layer) == id; });
}

std::vector<std::unique_ptr<Source>> make_sources(const RecordingRequest& request) {
  std::vector<std::unique_ptr<Source>> sources;
  for (const SourceInfo& source : all_sources())
    if (needs_source(request, source.id))
      sources.push_back(source.make(request));
  return sources;
}

} // namespace iotrail::capture

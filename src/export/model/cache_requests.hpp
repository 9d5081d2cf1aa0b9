// SPDX-License-Identifier: BSD-3-Clause
//
// The requests of a page cache, as simulators of caches take them.
#pragma once

#include <cstdint>
#include <functional>

#include "export/trace_format.hpp"

namespace iotrail::output {

struct CacheRequest {
  std::uint32_t at_s;   // since the begin of the recording
  std::uint64_t object; // a page of a file
  std::int64_t next;    // the number of the next request of the object, from 0; -1: none
};
inline constexpr std::uint32_t kCacheObjectBytes = 4096;

// One for each page that a call on files read or wrote, in the order of time.
Result<void> for_each_cache_request(const TraceInput& input, const Sink& sink,
                                    const std::function<void(const CacheRequest&)>& each);

} // namespace iotrail::output

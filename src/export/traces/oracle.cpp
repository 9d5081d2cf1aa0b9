// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include "export/model/cache_requests.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {
namespace {

// 24 bytes without gaps: time in seconds, object, size, number of the next request of the object.
Result<void> write_oracle(const TraceInput& input, Sink& sink) {
  return for_each_cache_request(input, sink, [&](const CacheRequest& request) {
    char record[24];
    std::memcpy(record, &request.at_s, 4);
    std::memcpy(record + 4, &request.object, 8);
    std::memcpy(record + 12, &kCacheObjectBytes, 4);
    std::memcpy(record + 16, &request.next, 8);
    sink.put(std::string_view(record, sizeof record));
  });
}

} // namespace

extern const TraceFormat kTraceFormatOracle = {
    .name = "oracleGeneral",
    .suffix = "oracleGeneral",
    .doc = "pages that calls read and wrote, for libCacheSim (binary)",
    .omits =
        "all but reads and writes of files at known positions; a read and a write are the same",
    .is_binary = true,
    .write = write_oracle,
};

} // namespace iotrail::output

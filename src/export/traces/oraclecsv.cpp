// SPDX-License-Identifier: BSD-3-Clause
#include "export/model/cache_requests.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {
namespace {

Result<void> write_oracle_csv(const TraceInput& input, Sink& sink) {
  sink.put("time_s,object,bytes,next_request\n");
  return for_each_cache_request(input, sink, [&](const CacheRequest& request) {
    sink.print("{},{},{},{}\n", request.at_s, request.object, kCacheObjectBytes, request.next);
  });
}

} // namespace

extern const TraceFormat kTraceFormatOraclecsv = {
    .name = "oracle-csv",
    .suffix = "oracle.csv",
    .doc = "the same as CSV",
    .omits =
        "all but reads and writes of files at known positions; a read and a write are the same",
    .write = write_oracle_csv,
};

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
#include "export/model/cache_requests.hpp"

#include <algorithm>

#include "export/trace_rows.hpp"

namespace iotrail::output {

// No call moves more than 2 GiB. A forged trace may say so, and would become endless pages.
static constexpr std::string_view kRequestsSql = R"(
WITH touched AS (SELECT a.ts_ns, a.op_id, a.file, unnest(range(CAST(first_page AS BIGINT),
CAST(first_page + pages AS BIGINT))) AS page FROM page_accesses AS a WHERE pages <= 524289 AND
first_page < 4503599627370496), numbered AS (SELECT *, row_number() OVER (ORDER BY ts_ns,
op_id, page) - 1 AS number FROM touched) SELECT minus(n.ts_ns, r.begin_ns) // 1000000000,
hash(n.file, n.page), coalesce(lead(number) OVER (PARTITION BY file, page ORDER BY number),
-1) FROM numbered AS n CROSS JOIN run AS r ORDER BY number)";

Result<void> for_each_cache_request(const TraceInput& input, const Sink& sink,
                                    const std::function<void(const CacheRequest&)>& each) {
  return for_each_row(input.engine, kRequestsSql, sink, [&](const TraceRow& row) {
    constexpr std::uint64_t kLatest = UINT32_MAX;
    each({.at_s = static_cast<std::uint32_t>(std::min(row.number(0), kLatest)),
          .object = row.number(1),
          .next = row.signed_number(2)});
  });
}

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes of devices without a known cause.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kRemainderColumns[] = {
    {.title = "device", .name = "device_name", .suppress_repeats = true},
    {.title = "", .name = "direction"},
    {.title = "bytes", .name = "bytes", .meaning = Meaning::bytes},
    {.title = "why", .name = "cause"},
    {.title = "that is", .name = "meaning", .meaning = Meaning::sentence},
};
constexpr std::string_view kRemaindersSql = R"(
SELECT d.device_name AS device_name, d.direction AS direction, d.cause AS cause, c.meaning AS meaning,
       total(d.bytes) AS bytes
FROM device_causes AS d JOIN causes AS c ON d.cause = c.cause
WHERE d.is_remainder = 1
GROUP BY d.device_name, d.direction, d.cause, c.meaning)";

} // namespace

SectionDefinition remainders_section() {
  return {.id = "remainders",
          .ranks = {.verify = 40},
          .title = "Remainders: bytes without a known cause in the trace",
          .view = "device_causes",
          .sql = kRemaindersSql,
          .order = "bytes DESC, device_name, direction, cause",
          .columns = kRemainderColumns};
}

} // namespace iotrail::output

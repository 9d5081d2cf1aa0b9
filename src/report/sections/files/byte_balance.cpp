// SPDX-License-Identifier: BSD-3-Clause
//
// The difference between the bytes of devices and of calls, part by part.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kBalanceColumns[] = {
    {.title = "", .name = "direction", .suppress_repeats = true},
    {.title = "", .name = "sign"},
    {.title = "bytes", .name = "bytes", .meaning = Meaning::count},
    {.title = "", .name = "part"},
    {.title = "that is", .name = "meaning", .meaning = Meaning::sentence},
};
constexpr std::string_view kBalanceSql = R"(
WITH
  parts AS (
    SELECT direction, step, part, sum(bytes) AS bytes FROM byte_balance GROUP BY direction, step, part
  ),
  rows AS (
    SELECT p.direction AS direction, p.step AS step, p.part AS part, p.bytes AS bytes, b.meaning AS meaning,
           CASE WHEN p.bytes < 0 THEN '-' WHEN p.step > 1 THEN '+' ELSE '' END AS sign
    FROM parts AS p JOIN balance_parts AS b ON p.direction = b.direction AND p.step = b.step
    UNION ALL
    SELECT direction, 99 AS step, 'completed' AS part, sum(bytes) AS bytes, 'by the devices' AS meaning, '=' AS sign
    FROM parts GROUP BY direction
  )
SELECT direction, step, part, meaning, sign, CAST(least(abs(bytes), 18446744073709551615) AS UBIGINT) AS bytes
FROM rows
WHERE bytes <> 0 OR step = 99)";

} // namespace

SectionDefinition byte_balance_section() {
  return {.id = "byte_balance",
          .ranks = {.report = 190, .verify = 50},
          .title = "From the calls to the devices, byte by byte, in the whole trace",
          .view = "byte_balance",
          .sql = kBalanceSql,
          .order = "direction DESC, step",
          .columns = kBalanceColumns,
          .add_notes = note_lost_completions};
}

} // namespace iotrail::output

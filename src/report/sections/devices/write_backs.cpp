// SPDX-License-Identifier: BSD-3-Clause
//
// The reasons of write-back.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kWriteBackColumns[] = {
    {.title = "bytes", .name = "bytes", .meaning = Meaning::bytes},
    {.title = "share", .name = "share", .meaning = Meaning::share},
    {.title = "set off by", .name = "call"},
    {.title = "process", .name = "process"},
    {.title = "dirty for", .name = "mean_delay_ns", .meaning = Meaning::ns},
    {.title = "at most", .name = "longest_delay_ns", .meaning = Meaning::ns, .drop_priority = 1},
    {.title = "that is", .name = "meaning", .meaning = Meaning::sentence, .omit = Omit::if_unknown},
};
constexpr std::string_view kWriteBacksSql = R"(
WITH
  shown AS MATERIALIZED (
    SELECT coalesce(call, set_off_by) AS call, set_off_by,
           CASE WHEN pid IS NULL THEN NULL ELSE coalesce(nullif(comm, ''), CAST(pid AS VARCHAR)) END AS process,
           total(bytes) AS bytes,
           CASE WHEN bool_or(mean_delay_ns IS NOT NULL) -- least() passes NULL over
             THEN CAST(least(sum(CAST(mean_delay_ns AS HUGEINT) * bios)
                             / nullif(sum(CASE WHEN mean_delay_ns IS NULL THEN 0 ELSE bios END), 0), 9.2e18) AS BIGINT) END AS mean_delay_ns,
           max(longest_delay_ns) AS longest_delay_ns
    FROM write_backs
    GROUP BY ALL
  ),
  sums AS (SELECT total(bytes) AS all_bytes FROM shown)
SELECT w.*, w.bytes / nullif(all_bytes, 0) AS share, CASE WHEN w.call <> w.set_off_by OR w.call = 'call' THEN NULL ELSE r.meaning END AS meaning
FROM shown AS w JOIN writeback_reasons AS r ON w.set_off_by = r.set_off_by CROSS JOIN sums)";

} // namespace

SectionDefinition write_backs_section() {
  return {.id = "write_backs",
          .ranks = {.report = 110},
          .title = "What set off the writing back of dirty pages",
          .view = "write_backs",
          .sql = kWriteBacksSql,
          .order = "bytes DESC, call, process",
          .rows = 6,
          .columns = kWriteBackColumns};
}

} // namespace iotrail::output

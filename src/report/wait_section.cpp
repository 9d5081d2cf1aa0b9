// SPDX-License-Identifier: BSD-3-Clause
#include "report/wait_section.hpp"

#include <fmt/format.h>

#include "text/units.hpp"

namespace iotrail::output {

namespace {

constexpr SectionColumn kWaitColumns[] = {
    {.title = "call", .name = "call"},
    {.title = "waited for", .name = "reason"},
    {.title = "in all", .name = "wait_ns", .show = Show::duration, .is_sum = true},
    {.title = "longest", .name = "longest_ns", .show = Show::duration},
    {.title = "times", .name = "waits", .show = Show::count, .is_sum = true},
    {.title = "calls", .name = "operations", .show = Show::count, .rank = 2, .is_sum = true},
    {.title = "in", .name = "waited_in", .fit = Fit::end, .rank = 1},
};
// What is no I/O comes last, and in one row for each reason.
constexpr std::string_view kWaitCausesSql = R"(
WITH
  shown AS MATERIALIZED (
    SELECT coalesce(call, '(not recorded)') AS call, reason, waited_in, for_others, operations, waits, wait_ns, longest_ns FROM wait_causes WHERE for_others = 0
    UNION ALL
    SELECT '(no I/O)' AS call, reason, NULL AS waited_in, 1 AS for_others, total(operations) AS operations, total(waits) AS waits,
           total(wait_ns) AS wait_ns, max(longest_ns) AS longest_ns
    FROM wait_causes WHERE for_others = 1 GROUP BY reason
  ),
  sums AS (SELECT count(*) AS all_rows, total(wait_ns) AS all_ns FROM shown)
SELECT w.*, a.all_rows AS all_rows, a.all_ns AS all_ns FROM shown AS w CROSS JOIN sums AS a)";

void note_waits(const SmallResult& rows, const store::TraceReader&, Sink& sink, std::size_t width) {
  std::string text;
  std::uint64_t shown_ns = 0;
  for (std::size_t row = 0; row < rows.size(); ++row)
    shown_ns += rows.number(row, "wait_ns");
  if (const std::uint64_t all = rows.number(0, "all_rows"); all > rows.size())
    text = fmt::format("not shown: {} more row{} of {}; ", human_count(all - rows.size()),
                       all - rows.size() == 1 ? "" : "s",
                       human_duration(rows.number(0, "all_ns") - shown_ns));
  print_wrapped(text + "cpu: it could have run, and others did; the other words: iotrail query "
                       "TRACE \"FROM wait_reasons\"",
                sink, width);
}

} // namespace

Section waits_section() {
  return {.name = "waits",
          .title = "What calls waited for",
          .view = "wait_causes",
          .sql = kWaitCausesSql,
          .order = "wait_ns DESC, call, reason, waited_in",
          .group = "for_others",
          .group_order = "for_others",
          .rows = 10,
          .columns = kWaitColumns,
          .add_notes = note_waits};
}

} // namespace iotrail::output

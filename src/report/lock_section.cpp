// SPDX-License-Identifier: BSD-3-Clause
#include "report/lock_section.hpp"

#include <fmt/format.h>

#include "text/units.hpp"

namespace iotrail::output {

namespace {

constexpr SectionColumn kLockColumns[] = {
    {.title = "waited", .name = "wait_ns", .show = Show::duration},
    {.title = "longest", .name = "longest_ns", .show = Show::duration, .rank = 2},
    {.title = "times", .name = "waits", .show = Show::count_or_dash},
    {.title = "refused", .name = "refused", .show = Show::count_or_dash, .rank = 1},
    {.title = "lock", .name = "lock", .rank = 3},
    {.title = "held by", .name = "holder"},
    {.title = "file", .name = "path", .fit = Fit::middle},
};
constexpr std::string_view kLockSql = R"(
WITH shown AS MATERIALIZED (SELECT * FROM lock_waits), sums AS (SELECT count(*) AS all_rows FROM shown)
SELECT w.* REPLACE (nullif(w.wait_ns, 0) AS wait_ns, nullif(w.longest_ns, 0) AS longest_ns), CASE WHEN w.blocker = 0 THEN '-' ELSE coalesce(w.comm, '') || '[' || w.blocker || ']' END AS holder,
       a.all_rows AS all_rows
FROM shown AS w CROSS JOIN sums AS a)";

void note_locks(const SmallResult& rows, const store::TraceReader&, Sink& sink, std::size_t width) {
  std::string text = "held by: who had such a lock, or was before in the queue";
  if (const std::uint64_t all = rows.number(0, "all_rows"); all > rows.size())
    text += fmt::format("; {} of {} rows, all: iotrail query TRACE \"FROM lock_waits\"",
                        human_count(rows.size()), human_count(all));
  print_wrapped(text, sink, width);
}

} // namespace

Section lock_section() {
  return {.name = "lock_waits",
          .title = "Locks of files that others had",
          .view = "lock_waits",
          .sql = kLockSql,
          .order = "coalesce(wait_ns, 0) DESC, refused DESC, path, lock, blocker",
          .order_words = "time waited",
          .rows = 5,
          .columns = kLockColumns,
          .add_notes = note_locks};
}

} // namespace iotrail::output

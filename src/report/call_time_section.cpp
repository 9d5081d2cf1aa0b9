// SPDX-License-Identifier: BSD-3-Clause
#include "report/call_time_section.hpp"

#include <fmt/format.h>

#include "text/units.hpp"

namespace iotrail::output {

namespace {

constexpr SectionColumn kCallTimeColumns[] = {
    {.title = "call", .name = "call"},
    {.title = "calls", .name = "calls", .show = Show::count, .rank = 2, .is_sum = true},
    {.title = "in all", .name = "all_ns", .show = Show::duration, .is_sum = true},
    {.title = "library", .name = "library", .show = Show::share, .when = When::known},
    {.title = "kernel", .name = "kernel", .show = Show::share, .when = When::known},
    {.title = "file system", .name = "file_system", .show = Show::share, .when = When::known},
    {.title = "waits", .name = "waits", .show = Show::share, .when = When::known},
    {.title = "handed over", .name = "handed", .show = Show::share, .when = When::known, .rank = 3},
    {.title = "queue", .name = "queued", .show = Show::share, .when = When::known},
    {.title = "device", .name = "device", .show = Show::share, .when = When::known},
    {.title = "waited most for",
     .name = "reasons",
     .when = When::known,
     .fit = Fit::end,
     .rank = 1},
};
// By the call that the program made: where it is known, that into the C library. What waits for others is no I/O. Where the
// trace tells one part from no other, there is nothing to show.
constexpr std::string_view kCallTimeSql = R"(
WITH
  times AS MATERIALIZED (SELECT * FROM call_times WHERE NOT for_others),
  parts AS (SELECT * FROM times WHERE (SELECT count(DISTINCT part) FROM times) > 1),
  calls AS (SELECT call, max(calls) AS calls, total(ns) AS all_ns FROM parts GROUP BY call),
  shares AS (
    SELECT p.call AS call, p.ns / c.all_ns AS share, p.part AS part, p.reason AS reason
    FROM parts AS p JOIN calls AS c ON p.call = c.call
    WHERE c.all_ns > 0
  ),
  sums AS (SELECT count(*) AS all_rows FROM calls)
SELECT c.call AS call, c.calls AS calls, c.all_ns AS all_ns,
       sum(share) FILTER (part IN ('library', 'call')) AS library, sum(share) FILTER (part IN ('system call', 'kernel')) AS kernel,
       sum(share) FILTER (part = 'file system') AS file_system, sum(share) FILTER (part = 'wait' OR part = 'journal') AS waits,
       sum(share) FILTER (part IN ('submit', 'worker', 'untold')) AS handed,
       sum(share) FILTER (part IN ('scheduler', 'plug', 'queue')) AS queued, sum(share) FILTER (part = 'device') AS device,
       string_agg(reason, ', ' ORDER BY share DESC, reason) FILTER (part = 'wait' AND share >= 0.01) AS reasons,
       a.all_rows AS all_rows
FROM calls AS c JOIN shares AS s ON c.call = s.call CROSS JOIN sums AS a
GROUP BY c.call, c.calls, c.all_ns, a.all_rows)";

void note_call_times(const SmallResult& rows, const store::TraceReader&, Sink& sink,
                     std::size_t width) {
  const std::uint64_t all = rows.number(0, "all_rows");
  print_wrapped(
      fmt::format(
          "waits: while no device worked for the call; library: outside the kernel, also without a "
          "CPU; calls on pipes, sockets and the like are not in it; {}all parts of a call, which "
          "--wide has, are 100 %; each operation's: the view op_time",
          all > rows.size()
              ? fmt::format("{} more calls are not shown; ", human_count(all - rows.size()))
              : ""),
      sink, width);
}

} // namespace

Section call_time_section() {
  return {.name = "call_times",
          .title = "Where the time of calls went",
          .view = "call_times",
          .sql = kCallTimeSql,
          .order = "all_ns DESC, call",
          .rows = 8,
          .columns = kCallTimeColumns,
          .most_events = 2'000'000,
          .add_notes = note_call_times};
}

} // namespace iotrail::output

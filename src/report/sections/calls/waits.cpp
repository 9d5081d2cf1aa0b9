// SPDX-License-Identifier: BSD-3-Clause
//
// The reasons for which calls waited.
#include <fmt/format.h>

#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kWaitColumns[] = {
    {.title = "call", .name = "call"},
    {.title = "waited for", .name = "reason"},
    {.title = "in all", .name = "wait_ns", .meaning = Meaning::ns, .is_sum = true},
    {.title = "longest", .name = "longest_ns", .meaning = Meaning::ns},
    {.title = "times", .name = "waits", .meaning = Meaning::count, .is_sum = true},
    {.title = "calls",
     .name = "operations",
     .meaning = Meaning::count,
     .drop_priority = 2,
     .is_sum = true},
    {.title = "in", .name = "waited_in", .meaning = Meaning::command, .drop_priority = 1},
};
// Waits that are no I/O come last, in one row for each reason.
constexpr std::string_view kWaitCausesSql = R"(
WITH
  shown AS MATERIALIZED (
    SELECT coalesce(call, '(not recorded)') AS call, reason, waited_in, for_others, operations, waits, wait_ns, longest_ns FROM wait_causes WHERE for_others = 0
    UNION ALL
    SELECT '(no I/O)' AS call, reason, NULL AS waited_in, 1 AS for_others, total(operations) AS operations, total(waits) AS waits,
           total(wait_ns) AS wait_ns, max(longest_ns) AS longest_ns
    FROM wait_causes WHERE for_others = 1 GROUP BY reason
  ),
  sums AS (SELECT total(wait_ns) AS _all_ns FROM shown),
  held AS (SELECT count(*) AS _held_back FROM block_queue WHERE by_kernel_thread <> 0),
  daemons AS (
    SELECT arg_max(daemon, daemon_ns) AS _daemon, max(daemon_ns) AS _daemon_ns
    FROM (SELECT daemon, total(wait_ns) AS daemon_ns FROM server_waits WHERE daemon IS NOT NULL GROUP BY daemon)
  )
SELECT w.*, _all_ns, _held_back, _daemon, _daemon_ns FROM shown AS w CROSS JOIN sums CROSS JOIN held CROSS JOIN daemons)";

void note_waits(const SectionRows& rows, const store::TraceReader&, Section& section) {
  Sentence note;
  std::uint64_t shown_ns = 0;
  for (std::size_t row = 0; row < rows.size(); ++row)
    shown_ns += rows.number(row, "wait_ns");
  if (const std::uint64_t more = section.all_rows - rows.size(); more > 0)
    note.add(
        fmt::format("not shown: {{more}} more row{} of {{more_ns}}; ", more == 1 ? "" : "s"),
        {count_value("more", more), ns_value("more_ns", rows.number(0, "_all_ns") - shown_ns)});
  if (const std::uint64_t bios = rows.number(0, "_held_back"); bios > 0)
    note.add("block_io: {bios} bios were held back before the device, as by a limit of a control "
             "group; ",
             {count_value("bios", bios)});
  if (!rows.is_null(0, "_daemon"))
    note.add("server: {daemon_ns} for the FUSE daemon {daemon}, all: iotrail query TRACE \"FROM "
             "server_waits\"; ",
             {ns_value("daemon_ns", rows.number(0, "_daemon_ns")),
              text_value("daemon", rows.text(0, "_daemon"))});
  note.add("cpu: it could have run, and others did; the other words: iotrail query TRACE \"FROM "
           "wait_reasons\"");
  section.notes.push_back(std::move(note));
}

} // namespace

SectionDefinition waits_section() {
  return {.id = "waits",
          .ranks = {.report = 70},
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

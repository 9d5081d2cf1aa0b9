// SPDX-License-Identifier: BSD-3-Clause
//
// The time of each kind of call by part.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition part(std::string_view title, std::string_view name,
                                int drop_priority = 0) {
  return {.title = title,
          .name = name,
          .meaning = Meaning::share,
          .omit = Omit::if_unknown,
          .drop_priority = drop_priority};
}

constexpr ColumnDefinition kCallTimeColumns[] = {
    {.title = "call", .name = "call"},
    {.title = "calls",
     .name = "calls",
     .meaning = Meaning::count,
     .drop_priority = 2,
     .is_sum = true},
    {.title = "in all", .name = "all_ns", .meaning = Meaning::ns, .is_sum = true},
    part("outside kernel", "outside_kernel"),
    part("kernel", "kernel"),
    part("file system", "file_system"),
    part("waits", "waits"),
    part("held back", "held_back"),
    part("handed over", "handed", 3),
    part("queue", "queued"),
    part("device", "device"),
    {.title = "waited most for",
     .name = "reasons",
     .meaning = Meaning::command,
     .omit = Omit::if_unknown,
     .drop_priority = 1},
};
// By the program's own call: the call into the C library, if known. Waits for other processes are
// no I/O. A trace with only one part has nothing to show.
constexpr std::string_view kCallTimeSql = R"(
WITH
  times AS MATERIALIZED (SELECT * FROM call_times WHERE NOT for_others),
  parts AS (SELECT * FROM times WHERE (SELECT count(DISTINCT part) FROM times) > 1),
  calls AS (SELECT call, max(calls) AS calls, total(ns) AS all_ns FROM parts GROUP BY call),
  shares AS (
    SELECT p.call AS call, p.ns / c.all_ns AS share, p.part AS part, p.reason AS reason
    FROM parts AS p JOIN calls AS c ON p.call = c.call
    WHERE c.all_ns > 0
  )
SELECT c.call AS call, c.calls AS calls, c.all_ns AS all_ns,
       sum(share) FILTER (part IN ('outside the kernel', 'call')) AS outside_kernel, sum(share) FILTER (part IN ('system call', 'kernel')) AS kernel,
       sum(share) FILTER (part = 'file system') AS file_system, sum(share) FILTER (part = 'wait' OR part = 'journal') AS waits,
       sum(share) FILTER (part = 'held back') AS held_back,
       sum(share) FILTER (part IN ('submit', 'worker', 'unreported')) AS handed,
       sum(share) FILTER (part IN ('scheduler', 'plug', 'queue')) AS queued, sum(share) FILTER (part = 'device') AS device,
       string_agg(reason, ', ' ORDER BY share DESC, reason) FILTER (part = 'wait' AND share >= 0.01) AS reasons
FROM calls AS c JOIN shares AS s ON c.call = s.call
GROUP BY c.call, c.calls, c.all_ns)";

bool holds_any_back(const SectionRows& rows) {
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (!rows.is_null(row, "held_back"))
      return true;
  return false;
}

void note_call_times(const SectionRows& rows, const store::TraceReader&, Section& section) {
  Sentence note = sentence("waits: while no device worked for the call; outside kernel: in the C "
                           "library, without a CPU, "
                           "or tracing; calls on pipes, sockets and the like are not in it; ");
  if (const std::uint64_t more = section.all_rows - section.rows.size(); more > 0)
    note.add("{more} more calls are not shown; ", {count_value("more", more)});
  note.add(holds_any_back(rows) ? "held back: before the device, as by a limit of a control group; "
                                : "");
  note.add("all parts of a call, which --wide has, are 100 %; each operation's: the view op_time");
  section.notes.push_back(std::move(note));
}

} // namespace

SectionDefinition call_times_section() {
  return {.id = "call_times",
          .ranks = {.report = 60},
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

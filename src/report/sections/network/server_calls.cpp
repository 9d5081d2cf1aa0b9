// SPDX-License-Identifier: BSD-3-Clause
//
// Calls to the servers of network file systems.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kServerColumns[] = {
    {.title = "server", .name = "server", .meaning = Meaning::path, .suppress_repeats = true},
    {.title = "call", .name = "_call"},
    {.title = "calls", .name = "calls", .meaning = Meaning::count},
    {.title = "errors",
     .name = "errors",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 6},
    {.title = "sent",
     .name = "call_bytes",
     .meaning = Meaning::bytes,
     .zero_is_dash = true,
     .drop_priority = 4},
    {.title = "received",
     .name = "answer_bytes",
     .meaning = Meaning::bytes,
     .zero_is_dash = true,
     .drop_priority = 5},
    {.title = "again",
     .name = "sent_again",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 7},
    {.title = "queued", .name = "queued_ns", .meaning = Meaning::ns, .drop_priority = 3},
    {.title = "answer p50",
     .name = "rtt_p50_ns",
     .meaning = Meaning::ns,
     .omit = Omit::if_unknown,
     .drop_priority = 2},
    {.title = "p99",
     .name = "rtt_p99_ns",
     .meaning = Meaning::ns,
     .omit = Omit::if_unknown,
     .drop_priority = 1},
    {.title = "total", .name = "total_ns", .meaning = Meaning::ns},
};

void note_servers(const SectionRows&, const store::TraceReader&, Section& section) {
  section.notes.push_back(
      sentence("queued: until they were sent; again: sent once more; unfinished ones: iotrail "
               "query TRACE \"FROM server_calls\""));
}

} // namespace

SectionDefinition server_calls_section() {
  return {.id = "server_calls",
          .ranks = {.report = 150},
          .title = "Calls to servers of network file systems",
          .view = "server_calls",
          .sql = "SELECT *, program || version || ' ' || procedure AS _call FROM server_calls",
          .order = "total_ns DESC, _call, server",
          .order_label = "time",
          .rows = 8,
          .columns = kServerColumns,
          .add_notes = note_servers};
}

} // namespace iotrail::output

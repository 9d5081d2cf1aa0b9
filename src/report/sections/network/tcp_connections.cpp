// SPDX-License-Identifier: BSD-3-Clause
//
// TCP connections.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kTcpColumns[] = {
    {.title = "process", .name = "_process", .drop_priority = 1},
    {.title = "side", .name = "side", .drop_priority = 4},
    {.title = "peer", .name = "peer", .meaning = Meaning::path},
    {.title = "ending", .name = "ending"},
    {.title = "life", .name = "life_ns", .meaning = Meaning::ns, .drop_priority = 5},
    {.title = "connect",
     .name = "connect_ns",
     .meaning = Meaning::ns,
     .omit = Omit::if_unknown,
     .drop_priority = 6},
    {.title = "rtt",
     .name = "rtt_ns",
     .meaning = Meaning::ns,
     .omit = Omit::if_unknown,
     .drop_priority = 7},
    {.title = "sent",
     .name = "sent",
     .meaning = Meaning::bytes,
     .zero_is_dash = true,
     .drop_priority = 2},
    {.title = "received",
     .name = "received",
     .meaning = Meaning::bytes,
     .zero_is_dash = true,
     .drop_priority = 3},
    {.title = "again", .name = "retransmitted", .meaning = Meaning::count, .zero_is_dash = true},
    {.title = "resets",
     .name = "resets",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 9},
    {.title = "drops",
     .name = "drops",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 8},
};
constexpr std::string_view kTcpSql = R"(
SELECT *, resets_sent + resets_received AS resets,
       CASE WHEN coalesce(comm, '') = '' THEN CAST(pid AS VARCHAR) ELSE comm || '[' || pid || ']' END AS _process
FROM tcp_connections)";

void note_connections(const SectionRows&, const store::TraceReader&, Section& section) {
  Sentence note = sentence("again: segments sent again");
  if (section.all_rows > section.rows.size())
    note.add("; {shown} of {all} connections, all: iotrail query TRACE \"FROM tcp_connections\"",
             {count_value("shown", section.rows.size()), count_value("all", section.all_rows)});
  section.notes.push_back(std::move(note));
}

} // namespace

SectionDefinition tcp_connections_section() {
  return {.id = "tcp_connections",
          .ranks = {.report = 160},
          .title = "TCP connections, in the whole trace",
          .view = "tcp_connections",
          .sql = kTcpSql,
          .order = "retransmitted DESC, drops DESC, resets DESC, coalesce(sent, 0) + "
                   "coalesce(received, 0) DESC, since_ns",
          .order_label = "what was sent again, dropped, reset",
          .rows = 5,
          .columns = kTcpColumns,
          .add_notes = note_connections};
}

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
#include "report/net_sections.hpp"

#include "text/units.hpp"

namespace iotrail::output {

namespace {

constexpr SectionColumn kTcpColumns[] = {
    {.title = "process", .name = "process", .rank = 1},
    {.title = "side", .name = "side", .rank = 4},
    {.title = "peer", .name = "peer", .fit = Fit::middle},
    {.title = "ending", .name = "ending"},
    {.title = "life", .name = "life_ns", .show = Show::duration, .rank = 5},
    {.title = "connect",
     .name = "connect_ns",
     .show = Show::duration,
     .when = When::known,
     .rank = 6},
    {.title = "rtt", .name = "rtt_ns", .show = Show::duration, .when = When::known, .rank = 7},
    {.title = "sent", .name = "sent", .show = Show::bytes_or_dash, .rank = 2},
    {.title = "received", .name = "received", .show = Show::bytes_or_dash, .rank = 3},
    {.title = "again", .name = "retransmitted", .show = Show::count_or_dash},
    {.title = "resets", .name = "resets", .show = Show::count_or_dash, .rank = 9},
    {.title = "drops", .name = "drops", .show = Show::count_or_dash, .rank = 8},
};
constexpr std::string_view kTcpSql = R"(
WITH shown AS MATERIALIZED (SELECT * FROM tcp_connections), sums AS (SELECT count(*) AS all_rows FROM shown)
SELECT t.*, resets_sent + resets_received AS resets, a.all_rows AS all_rows,
       CASE WHEN coalesce(comm, '') = '' THEN CAST(pid AS VARCHAR) ELSE comm || '[' || pid || ']' END AS process
FROM shown AS t CROSS JOIN sums AS a)";

void note_connections(const SmallResult& rows, const store::TraceReader&, Sink& sink,
                      std::size_t width) {
  const std::uint64_t all = rows.size() == 0 ? 0 : rows.number(0, "all_rows");
  std::string text = "again: segments sent again";
  if (all > rows.size())
    text += fmt::format("; {} of {} connections, all: iotrail query TRACE \"FROM tcp_connections\"",
                        human_count(rows.size()), human_count(all));
  print_wrapped(text, sink, width);
}

constexpr SectionColumn kServerColumns[] = {
    {.title = "server", .name = "server", .when = When::changed, .fit = Fit::middle},
    {.title = "call", .name = "call"},
    {.title = "calls", .name = "calls", .show = Show::count},
    {.title = "errors", .name = "errors", .show = Show::count_or_dash, .rank = 6},
    {.title = "sent", .name = "call_bytes", .show = Show::bytes_or_dash, .rank = 4},
    {.title = "received", .name = "answer_bytes", .show = Show::bytes_or_dash, .rank = 5},
    {.title = "again", .name = "sent_again", .show = Show::count_or_dash, .rank = 7},
    {.title = "queued", .name = "queued_ns", .show = Show::duration, .rank = 3},
    {.title = "answer p50",
     .name = "rtt_p50_ns",
     .show = Show::duration,
     .when = When::known,
     .rank = 2},
    {.title = "p99", .name = "rtt_p99_ns", .show = Show::duration, .when = When::known, .rank = 1},
    {.title = "total", .name = "total_ns", .show = Show::duration},
};
constexpr std::string_view kServerSql =
    "SELECT *, program || version || ' ' || procedure AS call FROM server_calls";

void note_servers(const SmallResult&, const store::TraceReader&, Sink& sink, std::size_t width) {
  print_wrapped("queued: until they were sent; again: sent once more; unfinished ones: "
                "iotrail query TRACE \"FROM server_calls\"",
                sink, width);
}

} // namespace

Section server_section() {
  return {.name = "server_calls",
          .title = "Calls to servers of network file systems",
          .view = "server_calls",
          .sql = kServerSql,
          .order = "total_ns DESC, call, server",
          .order_words = "time",
          .rows = 8,
          .columns = kServerColumns,
          .add_notes = note_servers};
}

Section tcp_section() {
  return {.name = "tcp_connections",
          .title = "TCP connections, in the whole trace",
          .view = "tcp_connections",
          .sql = kTcpSql,
          .order = "retransmitted DESC, drops DESC, resets DESC, coalesce(sent, 0) + "
                   "coalesce(received, 0) DESC, since_ns",
          .order_words = "what was sent again, dropped, reset",
          .rows = 5,
          .columns = kTcpColumns,
          .add_notes = note_connections};
}

} // namespace iotrail::output

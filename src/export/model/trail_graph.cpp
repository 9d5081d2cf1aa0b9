// SPDX-License-Identifier: BSD-3-Clause
#include "export/model/trail_graph.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/engine/sql_text.hpp"
#include "export/trace_rows.hpp"
#include "text/printable.hpp"
#include "text/units.hpp"

namespace iotrail::output {

namespace {

std::string operation_sql(const std::string& op) {
  constexpr std::string_view kCalls =
      "SELECT op_id, coalesce(call, class), program, pid, path, duration_ns, bytes FROM file_calls";
  if (op.empty())
    return fmt::format("{} WHERE op_id <> 0 ORDER BY duration_ns DESC, ts_ns LIMIT 1", kCalls);
  return fmt::format("{} WHERE op_text(op_id) = {} OR CAST(op_id AS VARCHAR) = {} LIMIT 1", kCalls,
                     analysis::sql_literal(op), analysis::sql_literal(op));
}

class TrailGraphMaker {
public:
  TrailGraphMaker(const TraceInput& input, const Sink& sink) : input_(input), sink_(sink) {}

  Result<TrailGraph> make() {
    auto done = add_call();
    if (done && graph_.nodes.empty())
      return fail("there is nothing to draw",
                  input_.op.empty() ? "the trace has no calls on files"
                                    : fmt::format("operation {} is no call on a file", input_.op));
    if (done)
      done = add_times();
    if (done)
      done = add_bytes();
    if (!done)
      return std::unexpected(done.error());
    return std::move(graph_);
  }

private:
  std::size_t add(std::string text) {
    graph_.nodes.push_back(std::move(text));
    return graph_.nodes.size() - 1;
  }

  Result<void> add_call() {
    return for_each_row(input_.engine, operation_sql(input_.op), sink_, [&](const TraceRow& row) {
      op_ = row.number(0);
      const std::size_t program =
          add(fmt::format("{} [{}]", printable(row.text(2)), row.number(3)));
      call_ = add(fmt::format("{} {}", printable(row.text(1)), printable(row.text(4))));
      graph_.edges.push_back(
          {program, call_,
           row.is_null(6) || row.number(6) == 0
               ? human_duration(row.number(5))
               : fmt::format("{}, {}", human_duration(row.number(5)), human_bytes(row.number(6)))});
    });
  }

  Result<void> add_times() {
    const std::string sql = fmt::format(
        "SELECT part, coalesce(reason, ''), ns FROM op_time WHERE op_id = {} ORDER BY ns DESC",
        op_);
    return for_each_row(input_.engine, sql, sink_, [&](const TraceRow& row) {
      const std::size_t part =
          add(fmt::format("time: {}{}{}", printable(row.text(0)), row.text(1).empty() ? "" : " ",
                          printable(row.text(1))));
      graph_.edges.push_back({call_, part, human_duration(row.number(2))});
    });
  }

  Result<void> add_bytes() {
    const std::string sql = fmt::format("SELECT l.direction, l.cause, l.device, coalesce(d.name, "
                                        "'device ' || l.device), total(l.bytes), "
                                        "count(*) FROM all_links AS l LEFT JOIN (SELECT device, "
                                        "min(name) AS name FROM devices GROUP "
                                        "BY device) AS d ON l.device = d.device WHERE l.op_id = {} "
                                        "AND l.completed_ns IS NOT NULL GROUP "
                                        "BY ALL ORDER BY ALL",
                                        op_);
    std::vector<std::pair<std::uint64_t, std::size_t>> devices;
    return for_each_row(input_.engine, sql, sink_, [&](const TraceRow& row) {
      const std::size_t cause =
          add(fmt::format("{} {}", printable(row.text(0)), printable(row.text(1))));
      graph_.edges.push_back({call_, cause, human_bytes(row.number(4))});
      auto device =
          std::ranges::find(devices, row.number(2), &std::pair<std::uint64_t, std::size_t>::first);
      if (device == devices.end())
        device = devices.emplace(devices.end(), row.number(2), add(printable(row.text(3))));
      graph_.edges.push_back({cause, device->second, human_count_of(row.number(5), "range")});
    });
  }

  const TraceInput& input_;
  const Sink& sink_;
  TrailGraph graph_;
  std::uint64_t op_ = 0;
  std::size_t call_ = 0;
};

} // namespace

Result<TrailGraph> trail_graph(const TraceInput& input, const Sink& sink) {
  return TrailGraphMaker(input, sink).make();
}

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
#include "export/model/stacks.hpp"

#include "export/trace_rows.hpp"
#include "text/printable.hpp"

namespace iotrail::output {

namespace {

// The last two columns are the count and the weight, the others are frames.
constexpr std::string_view kTimeSql =
    "SELECT program, call, path, CASE WHEN reason IS NULL THEN part ELSE part || ' ' || reason END "
    "AS cause, calls, ns FROM time_stacks WHERE ns > 0 ORDER BY ALL";
constexpr std::string_view kBytesSql =
    "SELECT program, call, path, direction || ' ' || cause AS cause, device, ranges, bytes "
    "FROM byte_stacks WHERE bytes > 0 ORDER BY ALL";

} // namespace

Result<void> for_each_stack(const TraceInput& input, const Sink& sink,
                            const std::function<void(const Stack&)>& each) {
  const bool is_time = input.weight == Weight::time;
  const std::size_t frames = is_time ? 4 : 5;
  return for_each_row(input.engine, is_time ? kTimeSql : kBytesSql, sink, [&](const TraceRow& row) {
    Stack stack{.frames = {}, .weight = row.number(frames + 1), .count = row.number(frames)};
    for (std::size_t i = 0; i < frames; ++i)
      stack.frames.push_back(row.text(i).empty() ? "(no name)" : printable(row.text(i)));
    each(stack);
  });
}

} // namespace iotrail::output

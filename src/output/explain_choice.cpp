// SPDX-License-Identifier: BSD-3-Clause
#include "output/explain_choice.hpp"

#include <string_view>

#include "analysis/sql_text.hpp"
#include "output/small_result.hpp"

namespace iotrail::output {
namespace {

using analysis::sql_literal;

// Operations as programs see them, with whatever tells them to people; one that is asked for by its number may be a call
// into the C library.
constexpr std::string_view kHeadsSql = R"(
SELECT o.op_id AS op_id, op_text(o.op_id) AS name, o.layer AS layer, coalesce(o.call, o.class) AS what,
       o.ts_ns AS ts_ns, o.duration_ns AS duration_ns, o.bytes AS bytes, errno_name(o.error) AS error, o.path AS path,
       o.pid AS pid, p.comm AS comm, o.ts_ns - least(o.ts_ns, r.begin_ns) AS since_ns
FROM operations AS o CROSS JOIN run AS r LEFT JOIN programs AS p ON o.pid = p.program_pid
WHERE o.layer IN (SELECT asked_layer FROM asked_layers{}))";

// "12.7", "p3.1" or a plain number.
std::string op_condition(const std::string& op) {
  return fmt::format("(name = {0} OR CAST(op_id AS VARCHAR) = {0})", sql_literal(op));
}

// Those under way at a time.
std::string from_heads_at(const std::string& heads, std::uint64_t at_ns) {
  return fmt::format("FROM ({}) WHERE since_ns <= {} AND plus(since_ns, duration_ns) >= {}", heads,
                     at_ns, at_ns);
}

} // namespace

std::string all_heads_sql(const ExplainOptions& options) {
  return fmt::format(kHeadsSql, options.op.empty() ? "" : " UNION SELECT layer_at('library')");
}

std::string heads_sql(const ExplainOptions& options) {
  const std::string heads = all_heads_sql(options);
  if (!options.op.empty())
    return fmt::format("SELECT * FROM ({}) WHERE {}", heads, op_condition(options.op));
  if (options.at_ns)
    return fmt::format("SELECT * {} ORDER BY since_ns LIMIT {}",
                       from_heads_at(heads, *options.at_ns), options.slowest);
  return fmt::format("{} ORDER BY duration_ns DESC, ts_ns LIMIT {}", heads, options.slowest);
}

Result<std::uint64_t> count_chosen(analysis::Engine& engine, const ExplainOptions& options) {
  if (!options.at_ns)
    return 0;
  const auto counted =
      SmallResult::query(engine, "SELECT count(*) AS operations " +
                                     from_heads_at(all_heads_sql(options), *options.at_ns));
  if (!counted)
    return std::unexpected(counted.error());
  return counted->number(0, "operations");
}

} // namespace iotrail::output

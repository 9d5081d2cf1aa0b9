// SPDX-License-Identifier: BSD-3-Clause
#include "report/explain/explain_choice.hpp"

#include <algorithm>
#include <string_view>

#include "analysis/engine/sql_text.hpp"

namespace iotrail::output {
namespace {

using analysis::sql_literal;

// Operations as programs see them, with fields that describe them. An operation given by its number
// may be a call into the C library.
constexpr std::string_view kHeadsSql = R"(
SELECT o.op_id AS op_id, op_text(o.op_id) AS name, o.layer AS layer, coalesce(o.call, o.class) AS what,
       o.ts_ns AS ts_ns, o.duration_ns AS duration_ns, o.bytes AS bytes, errno_name(o.error) AS error, o.path AS path,
       o.pid AS pid, p.comm AS comm, o.ts_ns - least(o.ts_ns, r.begin_ns) AS since_ns,
       CAST(coalesce(waits_for_others(o.class) OR o.file IN (SELECT file FROM files_without_device), false) AS INTEGER) AS is_for_others
FROM operations AS o CROSS JOIN run AS r LEFT JOIN programs AS p ON o.pid = p.program_pid
WHERE o.layer IN (SELECT asked_layer FROM asked_layers{}))";

// "12.7", "p3.1" or a plain number.
std::string op_condition(const std::string& op) {
  return fmt::format("(name = {0} OR CAST(op_id AS VARCHAR) = {0})", sql_literal(op));
}

// Operations in progress at a time.
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
  return fmt::format("SELECT * FROM ({}) ORDER BY is_for_others, duration_ns DESC, ts_ns LIMIT {}",
                     heads, options.slowest);
}

Result<Sentence> name_left_out(analysis::Engine& engine, const ExplainOptions& options,
                               const SmallResult& shown) {
  const std::string heads = all_heads_sql(options);
  if (options.at_ns) {
    const auto all = SmallResult::query(engine, "SELECT count(*) AS operations " +
                                                    from_heads_at(heads, *options.at_ns));
    if (!all)
      return std::unexpected(all.error());
    const std::uint64_t operations = all->number(0, "operations");
    if (operations <= shown.size())
      return Sentence{};
    return sentence(fmt::format("{{shown}} of {{all}} that were under way then, those that had "
                                "begun first; --slowest {} shows {}",
                                std::min(operations, kMostExplained),
                                operations > kMostExplained ? "more" : "all"),
                    {count_value("shown", shown.size()), count_value("all", operations)});
  }
  const std::size_t last = shown.size() - 1;
  if (!options.op.empty() || shown.number(last, "is_for_others") != 0)
    return Sentence{};
  const auto longer = SmallResult::query(
      engine, fmt::format("SELECT count(*) AS calls, arg_max(what, duration_ns) AS what, "
                          "arg_max(name, duration_ns) AS name, max(duration_ns) AS duration_ns "
                          "FROM ({}) WHERE is_for_others <> 0 AND duration_ns > {}",
                          heads, shown.number(last, "duration_ns")));
  if (!longer)
    return std::unexpected(longer.error());
  const std::uint64_t calls = longer->number(0, "calls");
  if (calls == 0)
    return Sentence{};
  return sentence(fmt::format("not looked at: {{calls}} longer call{} that waited for somebody "
                              "else, as on a pipe, a socket or in poll; the longest: {{call}}, "
                              "{{duration_ns}}, --op {{op}}",
                              calls == 1 ? "" : "s"),
                  {count_value("calls", calls), text_value("call", longer->text(0, "what")),
                   ns_value("duration_ns", longer->number(0, "duration_ns")),
                   text_value("op", longer->text(0, "name"))});
}

} // namespace iotrail::output

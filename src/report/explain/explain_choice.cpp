// SPDX-License-Identifier: BSD-3-Clause
#include "report/explain/explain_choice.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/ranges.h>

#include "analysis/engine/sql_text.hpp"

namespace iotrail::output {
namespace {

using analysis::sql_literal;

// Operations as programs see them, with fields that describe them. An operation given by its number
// may be a call into the C library.
constexpr std::string_view kHeadsSql = R"(
SELECT o.op_id AS op_id, op_text(o.op_id) AS name, o.layer AS layer, o.class AS class, coalesce(o.call, o.class) AS what,
       o.ts_ns AS ts_ns, o.duration_ns AS duration_ns, o.bytes AS bytes, errno_name(o.error) AS error, o.path AS path,
       o.pid AS pid, p.comm AS comm, o.ts_ns - least(o.ts_ns, r.begin_ns) AS since_ns,
       CAST(coalesce(waits_for_others(o.class) OR o.file IN (SELECT file FROM files_without_device), false) AS INTEGER) AS is_for_others
FROM operations AS o CROSS JOIN run AS r LEFT JOIN programs AS p ON o.pid = p.program_pid
WHERE (is_asked(o.layer){}))";

// "read" is a call or a class, "call:read" the call alone.
std::string operation_condition(const std::vector<std::string>& names) {
  constexpr std::string_view kCallAlone = "call:";
  std::vector<std::string> conditions;
  for (const std::string_view name : names)
    conditions.push_back(name.starts_with(kCallAlone)
                             ? fmt::format("what = {}", sql_literal(name.substr(kCallAlone.size())))
                             : fmt::format("{} IN (what, class)", sql_literal(name)));
  return fmt::format("({})", fmt::join(conditions, " OR "));
}

// Those that the user asks for by what and when they were.
std::string narrowed(std::string heads, const ExplainOptions& options) {
  std::vector<std::string> conditions;
  if (!options.operations.empty())
    conditions.push_back(operation_condition(options.operations));
  if (options.since_ns != 0)
    conditions.push_back(fmt::format("since_ns >= {}", options.since_ns));
  if (options.until_ns != 0)
    conditions.push_back(fmt::format("since_ns < {}", options.until_ns));
  if (conditions.empty())
    return heads;
  return fmt::format("SELECT * FROM ({}) WHERE {}", heads, fmt::join(conditions, " AND "));
}

// "12.7", "p3.1" or a plain number.
std::string op_condition(const std::string& op) {
  return fmt::format("(name = {0} OR CAST(op_id AS VARCHAR) = {0})", sql_literal(op));
}

// Operations in progress at a time.
std::string from_heads_at(const std::string& heads, std::uint64_t at_ns) {
  return fmt::format("FROM ({}) WHERE since_ns <= {} AND plus(since_ns, duration_ns) >= {}", heads,
                     at_ns, at_ns);
}

// The heads in that order, with the name that the process had when the operation began.
std::string with_names_then(const std::string& heads, const std::string& order) {
  return fmt::format(
      "SELECT h.* REPLACE (coalesce((SELECT arg_max(n.comm, n.since_ns) FROM processes AS n WHERE "
      "n.pid = h.pid AND n.since_ns <= h.ts_ns), h.comm) AS comm) FROM ({0} ORDER BY {1}) AS h "
      "ORDER BY {1}",
      heads, order);
}

} // namespace

std::string all_heads_sql(const ExplainOptions& options) {
  const bool with_library = !options.op.empty() || options.are_library_calls;
  return narrowed(fmt::format(kHeadsSql, with_library ? " OR o.layer = layer_at('library')" : ""),
                  options);
}

std::string heads_sql(const ExplainOptions& options) {
  const std::string heads = all_heads_sql(options);
  if (!options.op.empty())
    return with_names_then(
        fmt::format("SELECT * FROM ({}) WHERE {}", heads, op_condition(options.op)),
        "op_id, layer");
  if (options.at_ns)
    return with_names_then(fmt::format("SELECT * {}", from_heads_at(heads, *options.at_ns)),
                           fmt::format("since_ns LIMIT {}", options.slowest));
  return with_names_then(
      fmt::format("SELECT * FROM ({})", heads),
      fmt::format("is_for_others, duration_ns DESC, ts_ns LIMIT {}", options.slowest));
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

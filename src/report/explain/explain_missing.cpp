// SPDX-License-Identifier: BSD-3-Clause
#include "report/explain/explain_missing.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/ranges.h>

#include "analysis/engine/sql_text.hpp"
#include "report/coverage.hpp"
#include "report/small_result.hpp"
#include "report/trace_facts.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc{} && end == text.data() + text.size() ? std::optional(number)
                                                                    : std::nullopt;
}

struct Nearest {
  std::string order;
  std::string_view words; // introduce the operation that sorts first
  std::string maker{};    // begin of its name; without a match the first operation is taken
};

// Each CPU, and each thread of the app layer, numbers its operations. The nearest one therefore
// begins with the same name.
Nearest nearest_to(const std::string& op) {
  if (const auto id = number_of(op))
    return {fmt::format("abs(CAST(op_id AS HUGEINT) - {})", *id), "The nearest is"};
  const std::size_t dot = op.find('.');
  const auto number = dot == op.npos ? std::nullopt : number_of(op.substr(dot + 1));
  if (!number)
    return {"since_ns", "The first one is"};
  const std::string maker = op.substr(0, dot);
  return {fmt::format("CASE WHEN split_part(name, '.', 1) = {} "
                      "THEN abs(CAST(split_part(name, '.', 2) AS HUGEINT) - {}) END, since_ns",
                      analysis::sql_literal(maker), *number),
          "The nearest is", maker + "."};
}

// The first operation that began later, else the last one before.
Nearest nearest_to(std::uint64_t at_ns) {
  return {fmt::format("since_ns < {0}, abs(CAST(since_ns AS HUGEINT) - {0})", at_ns), ""};
}

std::string nearest_text(analysis::Engine& engine, const ExplainOptions& options,
                         std::string_view heads_sql) {
  const Nearest nearest = options.at_ns ? nearest_to(*options.at_ns) : nearest_to(options.op);
  const auto rows = SmallResult::query(
      engine, fmt::format("SELECT name, since_ns FROM ({}) ORDER BY {}, op_id LIMIT 1", heads_sql,
                          nearest.order));
  if (!rows || rows->size() == 0)
    return {};
  const std::uint64_t since_ns = rows->number(0, "since_ns");
  std::string_view words = nearest.words;
  if (options.at_ns)
    words = since_ns >= *options.at_ns ? "The next one is" : "The last one before is";
  else if (!rows->text(0, "name").starts_with(nearest.maker))
    words = "The first one is";
  return fmt::format("{} {}, at second {:.6f}.", words, rows->text(0, "name"),
                     static_cast<double>(since_ns) / 1e9);
}

// The layers in which programs request I/O.
std::vector<std::string_view> layers_of_operations() {
  std::vector<std::string_view> layers;
  for (const schema::LayerInfo& layer : schema::kLayers)
    if (layer.call_rank > 0 || layer.place == schema::Place::later)
      layers.push_back(layer.name);
  return layers;
}

// For a trace without operations: says if none was recorded.
std::string none_recorded(const store::TraceReader& trace) {
  if (has_sums(trace))
    return "`iotrail stat` adds operations up and keeps none of them";
  const std::vector<std::string_view> layers = layers_of_operations();
  const bool is_none_recorded = std::ranges::none_of(
      layers, [&](std::string_view layer) { return layer_not_recorded(trace, layer).empty(); });
  if (!is_none_recorded)
    return {};
  return fmt::format("operations are of the layers {}; recorded: {}", fmt::join(layers, ", "),
                     layers_text(trace.manifest()));
}

// "The trace has pwrite64, fdatasync, ...": those that took the most time.
std::string operations_hint(analysis::Engine& engine) {
  constexpr std::string_view kSql =
      "SELECT coalesce(call, class) AS name FROM operations WHERE is_asked(layer) GROUP BY name "
      "ORDER BY total(duration_ns) DESC NULLS LAST, name LIMIT 8";
  const auto names = SmallResult::query(engine, kSql);
  if (!names || names->size() == 0)
    return {};
  std::string hint = "The trace has ";
  for (std::size_t row = 0; row < names->size(); ++row)
    hint += fmt::format("{}{}", row == 0 ? "" : ", ", names->text(row, "name"));
  return hint + ".";
}

} // namespace

Error no_operation(analysis::Engine& engine, const ExplainOptions& options,
                   std::string_view heads_sql) {
  Error error{"nothing to explain", none_recorded(engine.trace()), "", 0};
  if (!error.why.empty()) {
    if (has_sums(engine.trace()))
      error.hint = "`iotrail report TRACE` shows the sums.";
    else if (engine.trace().has_rows(IOT_KIND_block_complete))
      error.hint = "--sector and --request tell who caused what devices did.";
    return error;
  }
  const std::string matching =
      options.selection.empty() ? "" : fmt::format(" that matches {}", options.selection);
  if (options.op.empty() && !options.at_ns) {
    error.why = matching.empty() ? "no operation is in the trace" : "no operation" + matching;
    if (!options.operations.empty())
      error.hint = operations_hint(engine);
    return error;
  }
  error.why = options.op.empty() ? fmt::format("no operation{} was under way then", matching)
                                 : fmt::format("there is no operation {}{}", options.op, matching);
  error.hint = nearest_text(engine, options, heads_sql);
  return error;
}

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options/selection.hpp"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "cli/options/operation_options.hpp"
#include "cli/options/parse_units.hpp"
#include "report/small_result.hpp"
#include "text/units.hpp"

namespace iotrail::cli {
namespace {

constexpr std::size_t kNamesShown = 6;

// "cp, sh and 3 more": what `sql` selects as `name`.
std::string some_names(analysis::Engine& engine, std::string_view sql) {
  const auto rows = output::SmallResult::query(engine, sql);
  if (!rows || rows->size() == 0)
    return "none";
  const std::size_t shown = std::min(rows->size(), kNamesShown);
  std::string names;
  for (std::size_t row = 0; row < shown; ++row)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", rows->text(row, "name"));
  return rows->size() > shown
             ? fmt::format("{} and {} more", names, output::human_count(rows->size() - shown))
             : names;
}

std::string run_length(analysis::Engine& engine) {
  const auto rows = output::SmallResult::query(
      engine,
      "SELECT greatest(max(last_ns), max(end_ns)) - max(begin_ns) AS ns FROM tables, "
      "(SELECT max(CASE \"key\" WHEN 'begin_ns' THEN CAST(value AS UBIGINT) END) AS begin_ns, "
      "max(CASE \"key\" WHEN 'end_ns' THEN CAST(value AS UBIGINT) END) AS end_ns FROM manifest) "
      "WHERE layer IN (SELECT layer FROM layer_list)");
  return rows && rows->size() == 1 ? output::human_duration(rows->number(0, "ns")) : "not known";
}

} // namespace

void declare_subjects(CLI::App& app, SelectionOptions& options) {
  app.add_option("--process", options.process,
                 "Only this process: a pid, or the name that it had at the time")
      ->type_name("NAME");
  app.add_option("--file", options.file, "Only files with this path; * and ? match as in a shell")
      ->type_name("PATH");
}

void declare_period(CLI::App& app, SelectionOptions& options) {
  app.add_option("--since", options.since, "Only from this time of the recording on (2s, 500ms)")
      ->type_name("TIME");
  app.add_option("--until", options.until, "Only up to this time of the recording")
      ->type_name("TIME");
}

CLI::Option* declare_operation_choice(CLI::App& app, SelectionOptions& options) {
  return app
      .add_option("--operation", options.operations,
                  "Only these operations: calls or classes of calls, separated by commas "
                  "(fsync,pread64). `read` is the class, `call:read` the call alone")
      ->type_name("OPERATION")
      ->delimiter(',');
}

Result<analysis::Selection> selection_of(const SelectionOptions& options) {
  if (const auto checked = check_operation_names("--operation", options.operations); !checked)
    return std::unexpected(checked.error());
  const auto since_ns = parse_moment("--since", options.since);
  if (!since_ns)
    return std::unexpected(since_ns.error());
  const auto until_ns = parse_duration("--until", options.until);
  if (!until_ns)
    return std::unexpected(until_ns.error());
  if (*until_ns != 0 && *until_ns <= *since_ns)
    return fail_usage(
        fmt::format("--until {} is not after --since {}", options.until, options.since));
  return analysis::Selection{*since_ns, *until_ns, options.process, options.file};
}

std::string selection_text(const SelectionOptions& options) {
  const std::string operations = fmt::format("{}", fmt::join(options.operations, ","));
  const std::pair<std::string_view, const std::string&> parts[] = {{"--operation", operations},
                                                                   {"--process", options.process},
                                                                   {"--file", options.file},
                                                                   {"--since", options.since},
                                                                   {"--until", options.until}};
  std::string text;
  for (const auto& [option, value] : parts)
    if (!value.empty())
      text += fmt::format("{}{} {}", text.empty() ? "" : " ", option, value);
  return text;
}

Result<void> check_matches(analysis::Engine& engine, const SelectionOptions& options) {
  const std::string selection = selection_text(options);
  if (selection.empty())
    return {};
  const auto matches = output::SmallResult::query(
      engine, "(SELECT 1 FROM events LIMIT 1) UNION ALL (SELECT 1 FROM path_calls LIMIT 1)");
  if (!matches || matches->size() > 0) // its own section reports a failure
    return {};
  std::string there;
  if (!options.process.empty())
    there += "its processes: " +
             some_names(engine, "SELECT comm || ' (' || min(pid) || ')' AS name FROM processes "
                                "WHERE comm <> '' GROUP BY comm ORDER BY count(*) DESC, comm") +
             "; ";
  if (!options.file.empty())
    there += "its files: " +
             some_names(engine, "SELECT DISTINCT path AS name FROM file_names "
                                "WHERE path <> '' ORDER BY path") +
             "; ";
  return fail(
      fmt::format("nothing in the trace matches {}", selection),
      fmt::format("{}its run: {}", there, run_length(engine)),
      there.empty()
          ? "--since and --until count from the beginning of the run."
          : "--process takes a name or a pid, --file a whole path with * and ? as in a shell.");
}

} // namespace iotrail::cli

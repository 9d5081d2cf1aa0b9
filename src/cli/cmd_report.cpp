// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/amounts.hpp"
#include "cli/commands.hpp"
#include "output/report_text.hpp"
#include "output/small_result.hpp"
#include "output/stat_text.hpp"
#include "output/units.hpp"
#include "store/catalogue.hpp"

namespace iotrail::cli {
namespace {

struct ReportRequest {
  std::string trace;
  std::string by;
  std::string sort;
  std::string top;
  std::string process;
  std::string file;
  std::string since;
  std::string until;
  bool json = false;
  bool wide = false;
};

Result<analysis::Selection> selection_of(const ReportRequest& request) {
  const auto since_ns = parse_moment("--since", request.since);
  if (!since_ns)
    return std::unexpected(since_ns.error());
  const auto until_ns = parse_duration("--until", request.until);
  if (!until_ns)
    return std::unexpected(until_ns.error());
  if (*until_ns != 0 && *until_ns <= *since_ns)
    return fail_usage(
        fmt::format("--until {} is not after --since {}", request.until, request.since));
  return analysis::Selection{*since_ns, *until_ns, request.process, request.file};
}

std::string selection_text(const ReportRequest& request) {
  const std::pair<std::string_view, const std::string&> parts[] = {{"--process", request.process},
                                                                   {"--file", request.file},
                                                                   {"--since", request.since},
                                                                   {"--until", request.until}};
  std::string text;
  for (const auto& [option, value] : parts)
    if (!value.empty())
      text += fmt::format("{}{} {}", text.empty() ? "" : " ", option, value);
  return text;
}

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
  return rows->size() > shown ? fmt::format("{} and {} more", names, rows->size() - shown) : names;
}

std::string run_length(analysis::Engine& engine) {
  const auto rows = output::SmallResult::query(
      engine,
      "SELECT greatest(max(last_ns), max(end_ns)) - max(begin_ns) AS ns FROM tables, "
      "(SELECT max(CASE \"key\" WHEN 'begin_ns' THEN CAST(value AS UBIGINT) END) AS begin_ns, "
      "max(CASE \"key\" WHEN 'end_ns' THEN CAST(value AS UBIGINT) END) AS end_ns FROM manifest) "
      "WHERE layer <> 'dictionary'");
  return rows && rows->size() == 1 ? output::human_duration(rows->number(0, "ns")) : "not known";
}

// An empty report would look like a program that did nothing.
Result<void> check_matches(analysis::Engine& engine, const ReportRequest& request) {
  const std::string selection = selection_text(request);
  if (selection.empty())
    return {};
  const auto matches = output::SmallResult::query(
      engine, "(SELECT 1 FROM events LIMIT 1) UNION ALL (SELECT 1 FROM path_calls LIMIT 1)");
  if (!matches || matches->size() > 0) // a failure is told by the section that it is of
    return {};
  std::string there;
  if (!request.process.empty())
    there += "its processes: " +
             some_names(engine, "SELECT comm || ' (' || min(pid) || ')' AS name FROM processes "
                                "WHERE comm <> '' GROUP BY comm ORDER BY count(*) DESC, comm") +
             "; ";
  if (!request.file.empty())
    there += "its files: " +
             some_names(engine, "SELECT DISTINCT path AS name FROM file_names "
                                "WHERE path <> '' ORDER BY path") +
             "; ";
  return fail(fmt::format("nothing in the trace matches {}", selection),
              fmt::format("{}its run: {}", there, run_length(engine)),
              "--process takes a name or a pid, --file a whole path with * and ? as in a shell.");
}

// Of a trace of `stat`, what that said. Its sums are of all there was.
Result<int> report_sums(analysis::Engine& engine, const ReportRequest& request, std::uint64_t top) {
  if (request.json || !request.sort.empty() || !selection_text(request).empty())
    return fail_usage("the trace is one of `iotrail stat`, whose report is whole and text", {},
                      "`iotrail query TRACE \"FROM sums\" --json` selects, sorts and gives JSON.");
  if (const Result<void> checked = output::check_stat_table(request.by); !checked)
    return std::unexpected(checked.error());
  const Result<void> written = output::write_stat(
      engine,
      {.width = request.wide ? output::kAnyWidth : output::terminal_width(STDOUT_FILENO),
       .by = request.by,
       .rows = top},
      stdout);
  return written ? Result<int>(0) : std::unexpected(written.error());
}

Result<int> report(const ReportRequest& request) {
  const auto selection = selection_of(request);
  if (!selection)
    return std::unexpected(selection.error());
  const auto top = parse_count("--top", request.top);
  if (!top)
    return std::unexpected(top.error());
  auto path = store::find_trace(request.trace);
  if (!path)
    return std::unexpected(path.error());
  auto engine = analysis::Engine::open(*path, {.selection = *selection});
  if (!engine)
    return std::unexpected(engine.error());
  if (output::has_sums((*engine)->trace()))
    return report_sums(**engine, request, *top);
  if (const auto checked = check_matches(**engine, request); !checked)
    return std::unexpected(checked.error());
  const output::ReportOptions options{.width = request.wide ? output::kAnyWidth
                                                            : output::terminal_width(STDOUT_FILENO),
                                      .by = request.by,
                                      .rows = {.rows = *top, .sort = request.sort},
                                      .selection = selection_text(request)};
  const Result<void> written = request.json ? output::write_report_json(**engine, options, stdout)
                                            : output::write_report(**engine, options, stdout);
  return written ? Result<int>(0) : std::unexpected(written.error());
}

} // namespace

Action declare_report(CLI::App& app, const Trailing&) {
  auto request = std::make_shared<ReportRequest>();
  app.add_option("trace", request->trace, kTraceHelp)->required();
  app.add_option("--by", request->by, "One table alone: by operation, file or process");
  app.add_option("--sort", request->sort,
                 "With --by: the column, as it is headed, whose largest values come first");
  app.add_option("--top", request->top, "Rows of each table");
  app.add_option("--process", request->process, "Only what this process did: a name or a pid")
      ->check(kNotEmpty);
  app.add_option("--file", request->file,
                 "Only what was done to files of this path; * and ? as in a shell")
      ->check(kNotEmpty);
  app.add_option("--since", request->since, "Only from this time of the recording on (2s, 500ms)");
  app.add_option("--until", request->until, "Only up to this time of the recording");
  app.add_flag("--json", request->json, "The tables as one JSON object, whole and unrounded");
  app.add_flag("--wide", request->wide, "All columns, however wide the terminal is");
  return [request] { return report(*request); };
}

} // namespace iotrail::cli

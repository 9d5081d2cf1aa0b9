// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/open_trace.hpp"
#include "cli/options/fail_if.hpp"
#include "cli/options/parse_units.hpp"
#include "cli/options/selection.hpp"
#include "cli/print_document.hpp"
#include "cli/verb.hpp"
#include "report/diff/diff.hpp"

namespace iotrail::cli {
namespace {

constexpr int kConditionFails = 3; // status with --fail-if
constexpr int kConditionOpen = 4;

struct DiffRequest {
  std::vector<std::string> traces;
  std::vector<std::string> before;
  std::vector<std::string> after;
  std::string by = "operation";
  std::string top;
  std::vector<std::string> fail_if;
  SelectionOptions only;
  bool sure = false;
  bool json = false;
};

// The traces of both sides, as the user named them.
Result<void> name_sides(const DiffRequest& request, std::vector<std::string>& before,
                        std::vector<std::string>& after) {
  const bool has_lists = !request.before.empty() || !request.after.empty();
  if (has_lists == !request.traces.empty() || (!has_lists && request.traces.size() != 2) ||
      (has_lists && (request.before.empty() || request.after.empty())))
    return fail_usage("diff compares two traces, or two lists of traces", {},
                      "iotrail diff BEFORE AFTER, or iotrail diff --before B1 B2 B3 B4 --after A1 "
                      "A2 A3 A4");
  before = has_lists ? request.before : std::vector{request.traces.front()};
  after = has_lists ? request.after : std::vector{request.traces.back()};
  if (std::max(before.size(), after.size()) > output::kMostRuns)
    return fail_usage(fmt::format("diff takes at most {} traces a side", output::kMostRuns));
  return {};
}

// `no_match` gets the reason if a run has nothing of what was selected.
Result<std::vector<output::Run>> read_runs(const std::vector<std::string>& traces,
                                           output::DiffBy by, const SelectionOptions& only,
                                           Result<void>& no_match) {
  std::vector<output::Run> runs;
  for (const std::string& trace : traces) {
    const auto engine = open_engine(
        trace,
        output::diff_engine_options({.selection = {.process = only.process, .file = only.file}}));
    if (!engine)
      return std::unexpected(engine.error());
    auto run = output::read_run(**engine, by);
    if (!run)
      return std::unexpected(run.error());
    if (run->all.count == 0)
      no_match = check_matches(**engine, only);
    runs.push_back(std::move(*run));
  }
  return runs;
}

Result<std::vector<output::Condition>> conditions_of(const DiffRequest& request) {
  std::vector<output::Condition> conditions;
  for (const std::string& text : request.fail_if) {
    auto condition = parse_condition(text);
    if (!condition)
      return std::unexpected(condition.error());
    conditions.push_back(std::move(*condition));
  }
  return conditions;
}

Result<output::Sides> read_sides(const DiffRequest& request, output::DiffBy by) {
  std::vector<std::string> before;
  std::vector<std::string> after;
  if (const auto named = name_sides(request, before, after); !named)
    return std::unexpected(named.error());
  Result<void> no_match;
  auto old_runs = read_runs(before, by, request.only, no_match);
  if (!old_runs)
    return std::unexpected(old_runs.error());
  auto new_runs = read_runs(after, by, request.only, no_match);
  if (!new_runs)
    return std::unexpected(new_runs.error());
  output::Sides sides{std::move(*old_runs), std::move(*new_runs)};
  const auto is_empty = [](const output::Run& run) { return run.all.count == 0; };
  if (!no_match && std::ranges::all_of(sides.before, is_empty) &&
      std::ranges::all_of(sides.after, is_empty))
    return std::unexpected(no_match.error());
  return sides;
}

Result<int> diff(const Console& console, const DiffRequest& request) {
  output::DiffOptions options{.by = *output::diff_by(request.by),
                              .selection = selection_text(request.only)};
  const auto rows = parse_count("--top", request.top);
  if (!rows)
    return std::unexpected(rows.error());
  if (*rows != 0 || request.json)
    options.rows = *rows;
  const auto conditions = conditions_of(request);
  if (!conditions)
    return std::unexpected(conditions.error());
  const auto sides = read_sides(request, options.by);
  if (!sides)
    return std::unexpected(sides.error());
  const auto judged = output::judge_conditions(*sides, *conditions, request.sure);
  if (!judged)
    return std::unexpected(judged.error());
  const Result<void> printed =
      print_document(console.out, output::diff_document(*sides, *judged, options),
                     request.json ? DocumentFormat::json : DocumentFormat::text);
  if (!printed)
    return std::unexpected(printed.error());
  if (std::ranges::any_of(*judged, &output::Judged::is_failed))
    return kConditionFails;
  return std::ranges::any_of(*judged, &output::Judged::is_open) ? kConditionOpen : 0;
}

Action declare_diff(CLI::App& app, const Trailing&) {
  auto request = std::make_shared<DiffRequest>();
  app.add_option("traces", request->traces, "The trace before the change, and the one after it")
      ->type_name("BEFORE AFTER")
      ->expected(0, 2);
  app.add_option("--before", request->before, "Several traces before the change")
      ->type_name("TRACE");
  app.add_option("--after", request->after, "Several traces after the change")->type_name("TRACE");
  app.add_option(
         "--by", request->by,
         "Compare by operation, file, process or device; numbers in file names count as equal")
      ->type_name("SUBJECT")
      ->transform([](const std::string& by) { return by == "call" ? "operation" : by; }, "")
      ->check(CLI::IsMember({"operation", "file", "process", "device"}).description(""));
  app.add_option("--top", request->top, "Number of rows, the largest change first; default: 12")
      ->type_name("COUNT");
  app.add_option("--fail-if", request->fail_if,
                 "Exit with status 3 if this holds: 'p99(fdatasync) > 1.2x'; may be repeated. "
                 "Metrics: " +
                     output::metric_names())
      ->type_name("CONDITION")
      ->expected(1)
      ->take_all();
  app.add_flag("--sure", request->sure,
               "A condition holds only if it does so with 95 % confidence, not just in these runs");
  declare_subjects(app, request->only);
  app.add_flag("--json", request->json, "The comparison as one JSON object");
  app.footer("One run a side shows what differs between these runs. Only several runs a side, four "
             "or more, can show that the program itself has changed.");
  return [request](const Console& console) { return diff(console, *request); };
}

constexpr ExitStatus kDiffStatuses[] = {
    {kConditionFails, "With --fail-if: a condition holds."},
    {kConditionOpen, "With --fail-if: none holds, but a trace is not whole, and what is missing "
                     "could make one hold."}};

} // namespace

extern const Verb kVerbDiff = {
    .name = "diff",
    .summary = "Compare traces: the change of time in I/O, and its certainty",
    .group = Group::read,
    .rank = 2,
    .declare = declare_diff,
    .examples = "  iotrail diff old.iotrail new.iotrail\n"
                "  iotrail diff old.iotrail new.iotrail --by file\n"
                "  iotrail diff --before b1 b2 b3 b4 --after a1 a2 a3 a4\n"
                "  iotrail diff b.iotrail a.iotrail --fail-if 'p99(fdatasync) > 1.2x'\n",
    .statuses = kDiffStatuses,
};

} // namespace iotrail::cli

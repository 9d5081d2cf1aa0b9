// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/messages.hpp"
#include "cli/options/parse_units.hpp"
#include "cli/options/selection.hpp"
#include "cli/output_file.hpp"
#include "cli/print_document.hpp"
#include "cli/progress_bar.hpp"
#include "cli/verb.hpp"
#include "cli/verbs/write_page.hpp"
#include "render/text/text.hpp"
#include "report/answer/first_screen.hpp"
#include "report/coverage.hpp"
#include "report/findings.hpp"
#include "report/report.hpp"
#include "report/snapshot_report.hpp"
#include "report/stat.hpp"
#include "store/reader/repository.hpp"
#include "text/sink.hpp"
#include "text/text_width.hpp"

namespace iotrail::cli {
namespace {

constexpr std::size_t kPromptLines = 1; // of the shell

struct ReportRequest {
  std::string trace = "latest";
  std::string by;
  std::string sort;
  std::string top;
  std::string html;
  SelectionOptions only;
  bool json = false;
  bool wide = false;
  bool full = false;

  // The answer on one screen, unless a table or everything is asked for.
  bool is_first_screen() const {
    return !full && !json && by.empty() && sort.empty() && top.empty();
  }
  // The page and JSON of all tables have an answer too.
  bool has_answer() const { return !html.empty() || is_first_screen() || (json && by.empty()); }
};

// A page has all tables, and columns for any width.
Result<void> check_page(const ReportRequest& request) {
  if (request.html.empty() || (!request.full && !request.json && !request.wide &&
                               request.by.empty() && request.sort.empty()))
    return {};
  return fail_usage("--html goes with a selection and --top alone", "a page has all tables",
                    "Sort and filter them in the page.");
}

Result<int> print(const Console& console, const ReportRequest& request,
                  const Result<output::Document>& document) {
  if (!document)
    return std::unexpected(document.error());
  const DocumentFormat wide = request.wide ? DocumentFormat::wide_text : DocumentFormat::text;
  const Result<void> printed =
      print_document(console.out, *document, request.json ? DocumentFormat::json : wide);
  return printed ? Result<int>(0) : std::unexpected(printed.error());
}

// Of a trace of `stat`, what that said. Its sums are of all there was.
Result<int> report_sums(const Console& console, analysis::Engine& engine,
                        const ReportRequest& request, std::uint64_t top) {
  if (!request.sort.empty() || !selection_text(request.only).empty())
    return fail_usage("the trace is one of `iotrail stat`: its report is whole", {},
                      "`iotrail query TRACE \"FROM sums\"` selects and sorts.");
  if (const Result<void> checked = output::check_stat_table(request.by); !checked)
    return std::unexpected(checked.error());
  return print(console, request, output::make_stat(engine, {.by = request.by, .rows = top}));
}

Result<int> write_page(const Console& console, analysis::Engine& engine,
                       const ReportRequest& request, std::uint64_t top) {
  const output::PageOptions options{.rows = top, .selection = selection_text(request.only)};
  const auto page = make_page_with_bar(console, engine, options);
  if (!page)
    return std::unexpected(page.error());
  const Result<void> written = write_page_file(console, *page, request.html);
  return written ? Result<int>(0) : std::unexpected(written.error());
}

// A snapshot has no calls to select or to sort.
Result<int> report_snapshots(const Console& console, analysis::Engine& engine,
                             const ReportRequest& request, std::uint64_t top) {
  if (!request.by.empty() || !request.sort.empty() || !selection_text(request.only).empty())
    return fail_usage("the trace is one of snapshots: its report is whole", {},
                      "`iotrail query TRACE \"FROM snapshot_files\"` selects and sorts.");
  return print(
      console, request,
      output::make_snapshot_report(engine, {.rows = top, .all_rows = request.json && top == 0}));
}

Result<int> print_answer(const Console& console, analysis::Engine& engine,
                         const ReportRequest& request) {
  const auto answer = with_progress_bar(
      console.err, engine.progress(), output::first_screen_steps(),
      [&]() -> Result<output::Document> {
        const auto judgement = output::judge(engine);
        if (!judgement)
          return std::unexpected(judgement.error());
        return output::make_first_screen(engine, selection_text(request.only), *judgement);
      });
  if (!answer)
    return std::unexpected(answer.error());
  return print(console, request,
               request.wide ? *answer : on_one_screen(console.out, *answer, kPromptLines));
}

Result<output::Document> whole_report(analysis::Engine& engine, const ReportRequest& request,
                                      const output::ReportOptions& options) {
  auto document = output::make_report(engine, options);
  if (!document || !request.has_answer())
    return document;
  const auto judgement = output::judge(engine);
  if (!judgement)
    return std::unexpected(judgement.error());
  const Result<void> added = output::add_answer(engine, options.selection, *judgement, *document);
  return added ? std::move(document) : std::unexpected(added.error());
}

Result<int> report(const Console& console, const ReportRequest& request) {
  if (const auto checked = check_page(request); !checked)
    return std::unexpected(checked.error());
  if (const auto checked = check_new_file(request.html); !checked)
    return std::unexpected(checked.error());
  const auto selection = selection_of(request.only);
  if (!selection)
    return std::unexpected(selection.error());
  const auto top = parse_count("--top", request.top);
  if (!top)
    return std::unexpected(top.error());
  auto path = store::find_trace(request.trace);
  if (!path)
    return std::unexpected(path.error());
  analysis::EngineOptions options{.selection = *selection};
  if (request.has_answer())
    options = request.html.empty() ? output::findings_engine_options(std::move(options))
                                   : output::page_engine_options(std::move(options));
  auto engine = analysis::Engine::open(*path, options);
  if (!engine)
    return std::unexpected(engine.error());
  const bool is_page = !request.html.empty();
  if (output::has_sums((*engine)->trace()) && (!is_page || !selection_text(request.only).empty()))
    return report_sums(console, **engine, request, *top);
  if (!is_page && output::is_of_snapshots((*engine)->trace()))
    return report_snapshots(console, **engine, request, *top);
  if (const auto checked = check_matches(**engine, request.only); !checked) {
    print_warnings(console.err, (*engine)->trace()); // what was not found may be what is missing
    return std::unexpected(checked.error());
  }
  if (is_page)
    return write_page(console, **engine, request, *top);
  if (request.is_first_screen())
    return print_answer(console, **engine, request);
  const output::ReportOptions whole{.by = request.by,
                                    .rows = {.rows = *top, .sort = request.sort},
                                    .selection = selection_text(request.only),
                                    .for_programs = request.json};
  const std::uint64_t steps =
      output::report_steps(whole) + (request.has_answer() ? output::first_screen_steps() : 0);
  return print(console, request, with_progress_bar(console.err, (*engine)->progress(), steps, [&] {
                 return whole_report(**engine, request, whole);
               }));
}

Action declare_report(CLI::App& app, const Trailing&) {
  auto request = std::make_shared<ReportRequest>();
  app.add_option("trace", request->trace, kTraceHelp)->type_name("TRACE")->default_str("latest");
  app.add_flag("--full", request->full, "Print all tables instead of the first screen");
  app.add_option("--by", request->by, "Print only one table: by operation, file, process or device")
      ->type_name("TABLE");
  app.add_option("--sort", request->sort,
                 "With --by: sort by this column (its heading), largest values first")
      ->type_name("COLUMN");
  app.add_option("--top", request->top, "Rows of each table")->type_name("COUNT");
  declare_subjects(app, request->only);
  declare_period(app, request->only);
  app.add_option("--html", request->html,
                 "Write a page with all of this to a new file; it opens in a browser, without a "
                 "network")
      ->type_name("FILE");
  app.add_flag("--json", request->json, "The tables as one JSON object, whole and unrounded");
  app.add_flag("--wide", request->wide, "Print all columns, however wide the terminal is");
  return [request](const Console& console) { return report(console, *request); };
}

} // namespace

extern const Verb kVerbReport = {
    .name = "report",
    .summary = "Say whether I/O slowed a program, and report what it did on every layer",
    .group = Group::read,
    .rank = 0,
    .declare = declare_report,
    .examples = "  iotrail report                      # the newest trace, on one screen\n"
                "  iotrail report latest --full\n"
                "  iotrail report latest --html out.html\n"
                "  iotrail report latest --by file --sort written --top 20\n"
                "  iotrail report latest --process db --since 2s --until 4s\n",
};

} // namespace iotrail::cli

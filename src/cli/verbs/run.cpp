// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <memory>
#include <string>

#include "cli/exit.hpp"
#include "cli/messages.hpp"
#include "cli/output_file.hpp"
#include "cli/print_document.hpp"
#include "cli/verb.hpp"
#include "cli/verbs/write_page.hpp"
#include "report/coverage.hpp"
#include "store/reader/repository.hpp"
#include "text/printable.hpp"

namespace iotrail::cli {

extern const Verb kVerbRecord;

namespace {

constexpr std::size_t kOtherLines = 2; // the page's path, and the shell's prompt

struct RunRequest {
  std::string html;
  CLI::Option* output = nullptr; // of `record`
};

// The path of the trace, which `record` takes as its own option.
std::filesystem::path choose_trace(const RunRequest& request, const Trailing& command) {
  const std::string name = request.output->empty() ? "" : request.output->as<std::string>();
  const std::filesystem::path path =
      store::new_trace_path(name, command.empty() ? std::string() : command.front());
  if (name.empty()) {
    request.output->add_result(path.native());
    request.output->run_callback();
  }
  return path;
}

// Beside the trace, unless the user names it.
std::string page_path(const RunRequest& request, const std::filesystem::path& trace) {
  return request.html.empty() ? std::filesystem::path(trace).replace_extension(".html").native()
                              : request.html;
}

Result<void> report_run(const Console& console, const std::filesystem::path& trace,
                        const std::string& html) {
  auto engine = analysis::Engine::open(trace, output::page_engine_options());
  if (!engine)
    return std::unexpected(engine.error());
  const auto page = make_page_with_bar(console, **engine, {});
  if (!page)
    return std::unexpected(page.error());
  // The command may have standard output for itself.
  const output::Document shown =
      page->answer ? on_one_screen(console.err, *page->answer, kOtherLines) : page->report;
  if (auto printed = print_document(console.err, shown); !printed)
    return printed;
  return write_page_file(console, *page, html);
}

// The directory of a trace may not exist yet: `record` makes it.
Result<void> check_new_page(const RunRequest& request, const std::string& html) {
  std::error_code ignored;
  const bool is_made = std::filesystem::exists(std::filesystem::path(html).parent_path(), ignored);
  return is_made || !request.html.empty() ? check_new_file(html) : Result<void>();
}

// The trace is written, and the caller gets the command's status.
int status_after(const Console& console, int status, const Result<void>& reported) {
  if (reported)
    return status;
  print_message(console.err,
                fmt::format("iotrail: {}", output::printable_message(reported.error())));
  return status == 0 ? static_cast<int>(Exit::failed) : status;
}

Result<int> record_and_report(const Console& console, const RunRequest& request,
                              const Trailing& command, const Action& record) {
  const std::filesystem::path trace = choose_trace(request, command);
  const std::string html = page_path(request, trace);
  if (const auto checked = check_new_page(request, html); !checked)
    return std::unexpected(checked.error());
  const Result<int> status = record(console);
  std::error_code ignored;
  if (!status || !std::filesystem::exists(trace, ignored))
    return status;
  return status_after(console, *status, report_run(console, trace, html));
}

Action declare_run(CLI::App& app, const Trailing& trailing) {
  const Action record = kVerbRecord.declare(app, trailing);
  auto request = std::make_shared<RunRequest>();
  request->output = app.get_option("--output");
  app.option_defaults()->group("The page");
  app.add_option("--html", request->html, "The page's file; default: beside the trace")
      ->type_name("FILE");
  app.footer("`iotrail -- COMMAND` is short for `iotrail run -- COMMAND`. The report goes to "
             "standard error. The exit status is the command's own; if that is 0, it is 1 if the "
             "report or the page could not be made.");
  return [request, &trailing, record](const Console& console) {
    return record_and_report(console, *request, trailing, record);
  };
}

} // namespace

extern const Verb kVerbRun = {
    .name = "run",
    .summary = "Record a command, report on it and write a page, as `iotrail -- COMMAND` does",
    .group = Group::record,
    .rank = 1,
    .declare = declare_run,
    .takes_command = true,
    .examples = "  iotrail -- make -j8                   # the same as `iotrail run -- make -j8`\n"
                "  iotrail run -o db --html db.html -- ./db\n",
};

} // namespace iotrail::cli

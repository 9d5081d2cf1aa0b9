// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>
#include <vector>

#include "cli/open_trace.hpp"
#include "cli/options/parse_units.hpp"
#include "cli/options/selection.hpp"
#include "cli/print_document.hpp"
#include "cli/verb.hpp"
#include "report/coverage.hpp"
#include "report/profile/profile.hpp"

namespace iotrail::cli {
namespace {

struct ProfileRequest {
  std::vector<std::string> traces;
  std::string top;
  SelectionOptions only;
  bool json = false;
};

Result<std::unique_ptr<analysis::Engine>> open_for_profile(const std::string& trace,
                                                           const SelectionOptions& only) {
  auto engine = open_engine(
      trace,
      output::profile_engine_options({.selection = {.process = only.process, .file = only.file}}));
  if (!engine)
    return engine;
  if (output::has_sums((*engine)->trace()))
    return fail(fmt::format("{} has sums only, and no single operations", trace),
                "`iotrail stat` made it; profile needs a trace of `iotrail record`");
  if (const auto matched = check_matches(**engine, only); !matched)
    return std::unexpected(matched.error());
  return engine;
}

Result<output::Document> document_of_one(const ProfileRequest& request) {
  output::ProfileOptions options{.selection = selection_text(request.only)};
  const auto rows = parse_count("--top", request.top);
  if (!rows)
    return std::unexpected(rows.error());
  options.rows.rows = *rows;
  options.rows.all_rows = request.json && *rows == 0;
  const auto engine =
      open_for_profile(request.traces.empty() ? "latest" : request.traces.front(), request.only);
  if (!engine)
    return std::unexpected(engine.error());
  return output::make_profile(**engine, options);
}

Result<output::Document> document_of_several(const ProfileRequest& request) {
  std::vector<output::ProfiledRun> runs;
  for (const std::string& trace : request.traces) {
    const auto engine = open_for_profile(trace, request.only);
    if (!engine)
      return std::unexpected(engine.error());
    auto run = output::read_profiled_run(**engine);
    if (!run)
      return std::unexpected(run.error());
    runs.push_back(std::move(*run));
  }
  return output::make_calibration(runs, selection_text(request.only));
}

Result<int> profile(const Console& console, const ProfileRequest& request) {
  constexpr std::size_t kMostTraces = 1000;
  if (request.traces.size() > kMostTraces)
    return fail_usage(fmt::format("profile takes at most {} traces", kMostTraces));
  const auto document =
      request.traces.size() > 1 ? document_of_several(request) : document_of_one(request);
  if (!document)
    return std::unexpected(document.error());
  const Result<void> printed = print_document(
      console.out, *document, request.json ? DocumentFormat::json : DocumentFormat::text);
  return printed ? Result<int>(0) : std::unexpected(printed.error());
}

Action declare_profile(CLI::App& app, const Trailing&) {
  auto request = std::make_shared<ProfileRequest>();
  app.add_option("traces", request->traces,
                 "A trace, or several of the same work: then the spread of each measure")
      ->type_name("TRACE")
      ->expected(0, -1)
      ->default_str("latest");
  app.add_option("--file", request->only.file,
                 "Only files with this path; * and ? match as in a shell")
      ->type_name("PATH");
  app.add_option("--process", request->only.process, "Only this process: a name or a pid")
      ->type_name("NAME");
  app.add_option("--top", request->top, "Number of rows of each table, the most bytes first")
      ->type_name("COUNT");
  app.add_flag("--json", request->json, "The profile as one JSON object, with all rows");
  app.footer("The views access_steps, access_streams, file_profiles, file_regions and access_sizes "
             "have every access, stream and file.");
  return [request](const Console& console) { return profile(console, *request); };
}

} // namespace

extern const Verb kVerbProfile = {
    .name = "profile",
    .summary = "Say how files were accessed: in order or at random, how large, where",
    .group = Group::read,
    .rank = 2,
    .declare = declare_profile,
    .examples = "  iotrail profile\n"
                "  iotrail profile my.iotrail --file '*.db'\n"
                "  iotrail profile run1 run2 run3 run4\n",
};

} // namespace iotrail::cli

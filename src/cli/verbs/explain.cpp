// SPDX-License-Identifier: BSD-3-Clause
#include <charconv>
#include <cstdio>
#include <memory>

#include "cli/messages.hpp"
#include "cli/open_trace.hpp"
#include "cli/options/op_option.hpp"
#include "cli/options/operation_options.hpp"
#include "cli/options/parse_units.hpp"
#include "cli/options/selection.hpp"
#include "cli/print_document.hpp"
#include "cli/verb.hpp"
#include "report/coverage.hpp"
#include "report/explain/explain.hpp"

namespace iotrail::cli {
namespace {

struct ExplainRequest {
  std::string trace = "latest";
  std::string slowest;
  std::string op;
  std::string at;
  std::string sector;
  std::string device;
  std::string request;
  SelectionOptions only;
  bool json = false;
};

Result<std::uint64_t> parse_sector(const std::string& text) {
  constexpr std::size_t kMostDigits = 16;
  if (text.empty() || text.size() > kMostDigits ||
      text.find_first_not_of("0123456789") != std::string::npos)
    return fail_usage(
        fmt::format("--sector: '{}' is no sector", text), {},
        "A sector is a number of units of 512 bytes, counted from the begin of the disk.");
  return std::stoull(text);
}

// As queries print it, or with 0x.
Result<std::uint64_t> parse_request(const std::string& text) {
  const bool is_hex = text.starts_with("0x");
  const char* begin = text.data() + (is_hex ? 2 : 0);
  const char* end = text.data() + text.size();
  std::uint64_t number = 0;
  const auto [stopped, problem] = std::from_chars(begin, end, number, is_hex ? 16 : 10);
  if (begin == end || problem != std::errc{} || stopped != end)
    return fail_usage(
        fmt::format("--request: '{}' is no request", text), {},
        "A request is a number such as 0x17 or 23; iotrail query TRACE \"SELECT request, * FROM "
        "block_complete\" has them all.");
  return number;
}

Result<output::ExplainOptions> options_of(const ExplainRequest& request) {
  output::ExplainOptions options{.operations = request.only.operations,
                                 .are_library_calls = are_library_calls(request.only.operations),
                                 .op = request.op,
                                 .device = request.device,
                                 .selection = selection_text(request.only)};
  const auto period = selection_of(request.only);
  if (!period)
    return std::unexpected(period.error());
  options.since_ns = period->since_ns;
  options.until_ns = period->until_ns;
  if (const Result<void> checked = check_op(request.op); !checked)
    return std::unexpected(checked.error());
  const auto slowest = parse_count("--slowest", request.slowest);
  if (!slowest)
    return std::unexpected(slowest.error());
  if (*slowest > output::kMostExplained)
    return fail_usage(
        fmt::format("--slowest {}", request.slowest),
        fmt::format("explain shows up to {} operations", output::kMostExplained),
        "`iotrail query TRACE \"FROM operations ORDER BY duration_ns DESC\"` lists them all.");
  if (*slowest != 0)
    options.slowest = *slowest;
  if (!request.at.empty()) {
    const auto at_ns = parse_moment("--at", request.at);
    if (!at_ns)
      return std::unexpected(at_ns.error());
    options.at_ns = *at_ns;
  }
  if (!request.sector.empty()) {
    const auto sector = parse_sector(request.sector);
    if (!sector)
      return std::unexpected(sector.error());
    options.sector = *sector;
  }
  if (!request.request.empty()) {
    const auto number = parse_request(request.request);
    if (!number)
      return std::unexpected(number.error());
    options.request = *number;
  }
  return options;
}

Result<void> print(const Console& console, analysis::Engine& engine,
                   const output::ExplainOptions& options, bool json) {
  const auto document = output::make_explanation(engine, options);
  if (!document)
    return std::unexpected(document.error());
  return print_document(console.out, *document, json ? DocumentFormat::json : DocumentFormat::text);
}

Result<int> explain(const Console& console, const ExplainRequest& request) {
  const auto options = options_of(request);
  if (!options)
    return std::unexpected(options.error());
  const auto engine = open_engine(
      request.trace, {.selection = {.process = request.only.process, .file = request.only.file}});
  if (!engine)
    return std::unexpected(engine.error());
  Result<void> written;
  if (!output::has_sums((*engine)->trace())) // which have no events that could match
    written = check_matches(**engine, {.process = request.only.process, .file = request.only.file});
  if (written)
    written = print(console, **engine, *options, request.json);
  if (written)
    return 0;
  print_warnings(console.err, (*engine)->trace()); // what was not found may be what is missing
  return std::unexpected(written.error());
}

Action declare_explain(CLI::App& app, const Trailing&) {
  auto request = std::make_shared<ExplainRequest>();
  app.add_option("trace", request->trace, kTraceHelp)->type_name("TRACE")->default_str("latest");
  auto* slowest =
      app.add_option("--slowest", request->slowest,
                     "Number of operations, up to 1000, the slowest first; default: 3. Operations "
                     "that waited for another process come last")
          ->type_name("COUNT");
  auto* op = app.add_option("--op", request->op,
                            "Only this operation, by its id in `script` and `explain` (1.42)")
                 ->type_name("OPERATION_ID");
  auto* at = app.add_option("--at", request->at,
                            "Operations in progress at this time of the recording (2s, 500ms)")
                 ->type_name("TIME");
  auto* sector =
      app.add_option("--sector", request->sector,
                     "Explain a sector of 512 bytes: the operations that read or wrote it")
          ->type_name("SECTOR");
  op->excludes(slowest)->excludes(at)->excludes(sector);
  sector->excludes(slowest)->excludes(at);
  app.add_option("--request", request->request,
                 "Explain a request of a device: the operations that caused its bytes; with --at, "
                 "the use of that number at that time")
      ->type_name("REQUEST")
      ->excludes(slowest)
      ->excludes(op)
      ->excludes(sector);
  app.add_option("--device", request->device, "With --sector: only on this device (sda)")
      ->type_name("DEVICE")
      ->needs(sector);
  declare_operation_choice(app, request->only)->excludes(op)->excludes(sector);
  declare_subjects(app, request->only);
  declare_period(app, request->only);
  app.add_flag("--json", request->json, "The operations and their parts as one JSON object");
  return [request](const Console& console) { return explain(console, *request); };
}

} // namespace

extern const Verb kVerbExplain = {
    .name = "explain",
    .summary = "Show single operations: how they spent their time, and their bytes",
    .group = Group::read,
    .rank = 1,
    .declare = declare_explain,
    .examples = "  iotrail explain latest --slowest 5\n"
                "  iotrail explain latest --operation fsync --slowest 10 --since 2s --until 4s\n"
                "  iotrail explain latest --op 1.42\n"
                "  iotrail explain latest --sector 2048 --device sda\n",
};

} // namespace iotrail::cli

// SPDX-License-Identifier: BSD-3-Clause
//
// explain, verify: the verbs that tell of trails.
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "cli/options/amounts.hpp"
#include "cli/options/selection.hpp"
#include "cli/tell.hpp"
#include "report/explain_text.hpp"
#include "report/stat_text.hpp"
#include "report/trail_text.hpp"
#include "store/reader/catalogue.hpp"

namespace iotrail::cli {
namespace {

constexpr int kDoesNotAddUp = 1;

struct ExplainRequest {
  std::string trace;
  std::string slowest;
  std::string op;
  std::string at;
  std::string sector;
  std::string device;
  std::string request;
  SelectionOptions only;
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

// As other verbs print it, or its number.
Result<void> check_op(std::string_view op) {
  constexpr std::size_t kMostDigits = 20;
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.size() <= kMostDigits &&
           text.find_first_not_of("0123456789") == text.npos;
  };
  const std::string_view name = op.substr(op.starts_with('p') ? 1 : 0);
  const std::size_t dot = name.find('.');
  const bool is_op = dot == name.npos
                         ? is_number(op)
                         : is_number(name.substr(0, dot)) && is_number(name.substr(dot + 1));
  if (op.empty() || is_op)
    return {};
  return fail_usage(fmt::format("--op: '{}' is no operation", op), {},
                    "An operation is 1.42 or, of the app layer, p1.42, as `script` and `explain` "
                    "print it.");
}

Result<output::ExplainOptions> options_of(const ExplainRequest& request) {
  output::ExplainOptions options{.width = output::terminal_width(STDOUT_FILENO),
                                 .op = request.op,
                                 .device = request.device,
                                 .selection = selection_text(request.only)};
  if (const Result<void> checked = check_op(request.op); !checked)
    return std::unexpected(checked.error());
  const auto slowest = parse_count("--slowest", request.slowest);
  if (!slowest)
    return std::unexpected(slowest.error());
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

Result<std::unique_ptr<analysis::Engine>> open(const std::string& trace,
                                               const analysis::Selection& selection) {
  auto path = store::find_trace(trace);
  if (!path)
    return std::unexpected(path.error());
  return analysis::Engine::open(*path, {.selection = selection});
}

Result<int> explain(const ExplainRequest& request) {
  const auto options = options_of(request);
  if (!options)
    return std::unexpected(options.error());
  const auto engine =
      open(request.trace, {.process = request.only.process, .file = request.only.file});
  if (!engine)
    return std::unexpected(engine.error());
  Result<void> written;
  if (!output::has_sums((*engine)->trace())) // which have no events that could match
    written = check_matches(**engine, request.only);
  if (written)
    written = output::write_explanation(**engine, *options, stdout);
  if (written)
    return 0;
  tell_warnings((*engine)->trace()); // what was not found may be what is missing
  return std::unexpected(written.error());
}

Result<int> verify(const std::string& trace) {
  const auto engine = open(trace, {});
  if (!engine)
    return std::unexpected(engine.error());
  const auto adds_up =
      output::write_verification(**engine, output::terminal_width(STDOUT_FILENO), stdout);
  if (!adds_up)
    return std::unexpected(adds_up.error());
  return *adds_up ? 0 : kDoesNotAddUp;
}

} // namespace

Action declare_explain(CLI::App& app, const Trailing&) {
  auto request = std::make_shared<ExplainRequest>();
  app.add_option("trace", request->trace, kTraceHelp)->required();
  auto* slowest = app.add_option("--slowest", request->slowest,
                                 "How many operations, the slowest first; 3 unless said otherwise. "
                                 "What waits for somebody else comes last");
  auto* op = app.add_option("--op", request->op,
                            "This operation, as `script` and `explain` name it (1.42)");
  auto* at = app.add_option("--at", request->at,
                            "Those that were under way at this time of the recording (2s, 500ms)");
  auto* sector = app.add_option("--sector", request->sector,
                                "The other way round: who read or wrote this sector of 512 bytes");
  op->excludes(slowest)->excludes(at)->excludes(sector);
  sector->excludes(slowest)->excludes(at);
  app.add_option(
         "--request", request->request,
         "The other way round: who caused what this request of a device carried; with --at, "
         "as it was used then")
      ->excludes(slowest)
      ->excludes(op)
      ->excludes(sector);
  app.add_option("--device", request->device, "With --sector: on this device alone (sda)")
      ->needs(sector);
  app.add_option("--process", request->only.process, "Only what this process did: a name or a pid");
  app.add_option("--file", request->only.file,
                 "Only what was done to files of this path; * and ? as in a shell");
  return [request] { return explain(*request); };
}

Action declare_verify(CLI::App& app, const Trailing&) {
  auto trace = std::make_shared<std::string>();
  app.add_option("trace", *trace, kTraceHelp)->required();
  app.footer(
      "Exit status: 0, everything adds up, with what was lost and counted; 1, something does not, "
      "or cannot be checked: the recording has no end or failed, or events may be missing that "
      "were not counted.");
  return [trace] { return verify(*trace); };
}

} // namespace iotrail::cli

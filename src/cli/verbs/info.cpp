// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/ranges.h>

#include "base/shell_word.hpp"
#include "cli/trace_facts.hpp"
#include "cli/verb.hpp"
#include "render/text/value_text.hpp"
#include "report/trace_facts.hpp"
#include "report/warnings.hpp"
#include "store/reader/repository.hpp"
#include "store/reader/trace_reader.hpp"
#include "text/printable.hpp"
#include "text/text_width.hpp"
#include "text/units.hpp"

namespace iotrail::cli {
namespace {

// "name      value", wrapped below the value.
class FactPrinter {
public:
  FactPrinter(std::FILE* file, std::size_t width) : file_(file), width_(width) {}

  void fact(std::string_view name, std::string_view value) const {
    if (value.empty())
      return;
    for (const std::string& line : output::wrapped(
             output::printable(output::shortened_fact(value, width_)), width_ - kIndent)) {
      fmt::print(file_, "{:<10}{}\n", name, line);
      name = {};
    }
  }
  // A long one is cut, unless all is asked for.
  void command(const std::vector<std::string>& words) const {
    const std::string text = fmt::format("{}", fmt::join(words, " "));
    fact("command", width_ == output::kAnyWidth
                        ? text
                        : output::shortened_end(text, kCommandLines * (width_ - kIndent)));
  }

private:
  static constexpr std::size_t kIndent = 10;
  static constexpr std::size_t kCommandLines = 2;
  std::FILE* file_;
  std::size_t width_;
};

void print_served(const store::Manifest& manifest, const FactPrinter& print, bool wide) {
  std::vector<std::string> missing;
  for (const store::HookReport& hook : manifest.hooks) {
    if (wide)
      print.fact("hook", fmt::format("{:<24}{} {}", hook.event,
                                     hook.hook.empty() ? "none:" : hook.hook, hook.reason));
    else if (hook.hook.empty())
      missing.push_back(hook.event);
  }
  if (!missing.empty())
    print.fact("missing", fmt::format("{}; why: iotrail info --wide", fmt::join(missing, ", ")));
}

std::string state_text(const store::TraceReader& trace) {
  const store::Manifest& manifest = trace.manifest();
  if (trace.damage().manifest)
    return fmt::format("DAMAGED, the rest is {}", output::kNotKnown);
  return fmt::format("{}{} ({})", is_damaged(trace) ? "DAMAGED, " : "",
                     store::state_name(manifest.state),
                     manifest.stop_reason.empty() ? "no end was written" : manifest.stop_reason);
}

void print_manifest(std::FILE* file, const store::TraceReader& trace, std::size_t width) {
  const store::Manifest& manifest = trace.manifest();
  const FactPrinter print(file, width);
  print.fact("trace", trace.path().native());
  print.fact("state", state_text(trace));
  print.command(manifest.command);
  if (manifest.command_status >= 0)
    print.fact("status", output::human_status(manifest.command_status));
  print.fact("begin", trace.damage().manifest ? output::kNotKnown : local_time(manifest));
  if (manifest.end_ns != 0)
    print.fact("duration", output::human_duration(manifest.end_ns - manifest.begin_ns));
  print.fact("machine",
             trace.damage().manifest ? output::kNotKnown : output::machine_text(manifest));
  print.fact("layers", output::layers_text(manifest));
  print.fact("running", fmt::format("{}", fmt::join(manifest.still_running, ", ")));
  for (const std::string& program : manifest.not_followed)
    print.fact("unseen", program);
  print.fact("filters", fmt::format("{}", fmt::join(manifest.filters, " ")));
  print.fact("limits", fmt::format("{}", fmt::join(manifest.limits, " ")));
  print.fact("tags", tags_text(manifest));
  for (const store::SourceTally& tally : manifest.sources)
    print.fact("source",
               fmt::format("{}: {} produced = {} written + {} lost", tally.name,
                           output::human_count(tally.produced), output::human_count(tally.written),
                           output::human_count(tally.lost)));
  for (const auto& [event, rows] : manifest.counts)
    print.fact("events", fmt::format("{:<24}{:>14}", event, output::human_count(rows)));
  for (const auto& [counter, value] : manifest.counters)
    print.fact("counter", fmt::format("{:<24}{:>14}", counter, output::human_count(value)));
  print_served(manifest, print, width == output::kAnyWidth);
}

// Damage is a failure, so that a script may ask whether a trace is whole.
Result<int> info(const Console& console, const std::string& name, bool json, bool wide) {
  const auto path = store::find_trace(name);
  if (!path)
    return std::unexpected(path.error());
  const auto opened = store::TraceReader::open(*path);
  if (!opened)
    return std::unexpected(opened.error());
  const store::TraceReader& trace = **opened;
  trace.read_all();
  if (json)
    fmt::print(console.out.file, "{}\n", store::to_json(trace.manifest()));
  else
    print_manifest(console.out.file, trace, wide ? output::kAnyWidth : console.out.width());
  if (!is_damaged(trace))
    return 0;
  return fail(
      "the trace is not whole",
      fmt::format("{}", fmt::join(output::sentence_texts(output::damage_sentences(trace)), "\n  ")),
      "What is there can be read: iotrail report " + shell_word(path->native()));
}

Action declare_info(CLI::App& app, const Trailing&) {
  auto name = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  auto wide = std::make_shared<bool>(false);
  app.add_option("trace", *name, kTraceHelp)->type_name("TRACE")->required();
  app.add_flag("--json", *json, "The whole manifest, as JSON");
  app.add_flag("--wide", *wide,
               "With what served each event, however wide that is; --json alone cuts nothing off");
  return [name, json, wide](const Console& console) { return info(console, *name, *json, *wide); };
}

} // namespace

extern const Verb kVerbInfo = {
    .name = "info",
    .summary = "Show the facts of a trace: machine, filters, counts, losses",
    .group = Group::manage,
    .rank = 1,
    .declare = declare_info,
    .examples = "  iotrail info latest\n"
                "  iotrail info latest --json\n",
};

} // namespace iotrail::cli

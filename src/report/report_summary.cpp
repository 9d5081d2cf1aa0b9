// SPDX-License-Identifier: BSD-3-Clause
#include "report/report_summary.hpp"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "report/warnings.hpp"
#include "schema.hpp"
#include "text/printable.hpp"
#include "text/table.hpp"
#include "text/units.hpp"

namespace iotrail::output {

namespace {

constexpr std::size_t kFactIndent = 12;

void print_fact(Sink& sink, std::string_view name, std::string_view value, std::size_t width) {
  if (value.empty())
    return;
  for (const std::string& line :
       wrapped(printable(shortened_fact(value, width)), width - kFactIndent)) {
    sink.print("  {:<10}{}\n", name, line);
    name = {};
  }
}

// Command lines can be long; two lines tell which it was.
constexpr std::size_t kCommandLines = 2;

std::string command_text(const store::Manifest& manifest, std::size_t width) {
  const std::string command = fmt::format("{}", fmt::join(manifest.command, " "));
  return width == kAnyWidth ? command
                            : shortened_end(command, kCommandLines * (width - kFactIndent));
}

void print_sentence(Sink& sink, std::string_view text, std::size_t width) {
  for (const std::string& line : wrapped(text, width - 2))
    sink.print("  {}\n", line);
}

std::uint64_t last_event_ns(const store::TraceReader& trace) {
  std::uint64_t last_ns = 0;
  for (const store::BlockInfo& block : trace.blocks())
    if (const store::TableInfo* table = trace.table(block.kind); table && !table->is_dictionary())
      last_ns = std::max(last_ns, block.last_ns);
  return last_ns;
}

// Without an end in the manifest, the last event is as far as the recording is known to have come.
std::string run_text(const store::TraceReader& trace) {
  const store::Manifest& manifest = trace.manifest();
  if (manifest.begin_ns == 0)
    return {};
  if (manifest.end_ns >= manifest.begin_ns)
    return human_duration(manifest.end_ns - manifest.begin_ns);
  const std::uint64_t last_ns = last_event_ns(trace);
  return last_ns <= manifest.begin_ns
             ? ""
             : fmt::format("last event after {}", human_duration(last_ns - manifest.begin_ns));
}

std::string begin_text(const store::TraceReader& trace) {
  const store::Manifest& manifest = trace.manifest();
  const bool is_known = manifest.begin_ns != 0 && !trace.damage().manifest;
  return is_known ? human_date(manifest.begin_real_ns()) : "";
}

std::string state_text(const store::TraceReader& trace) {
  const store::Manifest& manifest = trace.manifest();
  if (trace.damage().manifest)
    return std::string(kNotKnown);
  std::string text = run_text(trace);
  text += fmt::format("{}{}", text.empty() ? "" : ", ", store::state_name(manifest.state));
  if (!manifest.stop_reason.empty())
    text += ": " + manifest.stop_reason;
  if (manifest.command_status >= 0 && !manifest.command.empty())
    text += " with status " + human_status(manifest.command_status);
  return text;
}

std::string recorder_text(const store::Manifest& manifest) {
  if (manifest.recorder_cpu_ns == 0)
    return {};
  return fmt::format("{} of CPU, {} of memory and {} of rings; trace of {}",
                     human_duration(manifest.recorder_cpu_ns),
                     human_bytes(manifest.recorder_memory_bytes),
                     human_bytes(manifest.ring_memory_bytes), human_bytes(manifest.events_bytes));
}

std::string events_text(const store::TraceReader& trace) {
  const store::Manifest& manifest = trace.manifest();
  if (manifest.sources.empty())
    return {};
  if (const std::string lost = lost_text(manifest); !lost.empty())
    return lost + ": see Losses";
  std::uint64_t produced = 0;
  for (const store::SourceTally& source : manifest.sources)
    produced += source.produced;
  if (manifest.gaps() != 0)
    return human_count(produced) + ", SOME MAY BE MISSING: see Losses";
  return fmt::format("{}, none lost{}", human_count(produced),
                     trace.damage().any() ? " while recording" : "");
}

bool is_gap(const SmallResult& totals, std::size_t row) {
  return totals.text(row, "severity") == schema::severity_name(schema::Severity::gap);
}

// What is not counted may be more than what is: then none of it is said to be all.
bool has_gaps(const SmallResult& totals, std::string_view source) {
  for (std::size_t row = 0; row < totals.size(); ++row)
    if (is_gap(totals, row) && totals.text(row, "source") == source)
      return true;
  return false;
}

std::string tally_text(const store::SourceTally& source, const SmallResult& totals) {
  const std::string lost = human_count(source.lost);
  const std::string produced = human_count(source.produced);
  const std::string written = human_count(source.written);
  if (!adds_up(source))
    return fmt::format("{} produced, {} written, {} lost: THESE NUMBERS DO NOT ADD UP", produced,
                       written, lost);
  if (source.lost == 0)
    return fmt::format("none lost while recording{}, {} events produced == {} written",
                       has_gaps(totals, source.name) ? ", of those that were counted" : "",
                       produced, written);
  return fmt::format("{} OF {} EVENTS LOST ({}), {} written", lost, produced,
                     human_share_of(source.lost, source.produced), written);
}

void print_tallies(const store::Manifest& manifest, const SmallResult& totals, Sink& sink,
                   std::size_t width) {
  for (const store::SourceTally& source : manifest.sources)
    print_sentence(sink, fmt::format("{}: {}", printable(source.name), tally_text(source, totals)),
                   width);
}

std::string counter_text(const SmallResult& totals, std::size_t row) {
  const std::string event = totals.text(row, "event");
  const std::string counter = totals.text(row, "counter");
  return event == "0" ? counter : fmt::format("{} of {}", counter, event);
}

std::string when_lost(const SmallResult& totals, std::size_t row, std::uint64_t begin_ns) {
  if (totals.is_null(row, "from_ns"))
    return "";
  const auto since_begin = [&](std::string_view column) {
    const std::uint64_t at_ns = totals.number(row, column);
    return fmt::format("{:.3f}",
                       at_ns > begin_ns ? static_cast<double>(at_ns - begin_ns) / 1e9 : 0.0);
  };
  return fmt::format("{} to {} s", since_begin("from_ns"), since_begin("to_ns"));
}

bool names_files(const store::Manifest& manifest) {
  return std::ranges::any_of(manifest.filters, [](const std::string& words) {
    return words.starts_with("--file ") || words.starts_with("--dir ");
  });
}

} // namespace

std::string machine_text(const store::Manifest& manifest) {
  std::vector<std::string> facts;
  for (const std::string& fact : {manifest.host, manifest.kernel, manifest.machine})
    if (!fact.empty())
      facts.push_back(fact);
  if (manifest.cpu_count > 0)
    facts.push_back(
        fmt::format("{} CPU{}", manifest.cpu_count, manifest.cpu_count == 1 ? "" : "s"));
  return fmt::format("{}", fmt::join(facts, ", "));
}

std::string layers_text(const store::Manifest& manifest) {
  const std::vector<std::string> refused = manifest.layers_refused();
  const std::set<std::string_view> without(refused.begin(), refused.end());
  std::vector<std::string> recorded;
  std::ranges::copy_if(manifest.layers, std::back_inserter(recorded),
                       [&](const std::string& layer) { return !without.contains(layer); });
  std::string text = fmt::format("{}", fmt::join(recorded, ", "));
  if (!refused.empty())
    text += fmt::format("{}not recorded: {}", text.empty() ? "" : "; ", fmt::join(refused, ", "));
  return text;
}

void print_trace_header(const store::TraceReader& trace, std::string_view selection, Sink& sink,
                        std::size_t width) {
  const store::Manifest& manifest = trace.manifest();
  sink.print("Trace {}\n", printable(trace.path().filename().string()));
  print_fact(sink, "command", command_text(manifest, width), width);
  print_fact(sink, "run", state_text(trace), width);
  print_fact(sink, "layers", layers_text(manifest), width);
  print_fact(sink, "", bare_file_systems_text(manifest), width);
  print_fact(sink, "goes on", fmt::format("{}", fmt::join(manifest.still_running, ", ")), width);
  print_fact(sink, "unseen", fmt::format("{}", fmt::join(manifest.not_followed, "; ")), width);
  print_fact(sink, "filters", fmt::format("{}", fmt::join(manifest.filters, "; ")), width);
  print_fact(sink, "limits", fmt::format("{}", fmt::join(manifest.limits, "; ")), width);
  print_fact(sink, "events", events_text(trace), width);
  print_fact(sink, "only", selection, width);
  for (const std::string& sentence : warning_sentences(trace))
    print_sentence(sink, sentence, width);
}

void print_recording(const store::TraceReader& trace, Sink& sink, std::size_t width) {
  const store::Manifest& manifest = trace.manifest();
  sink.put("\nRecording\n");
  print_fact(sink, "begin", begin_text(trace), width);
  print_fact(sink, "machine", machine_text(manifest), width);
  print_fact(sink, "recorder", recorder_text(manifest), width);
}

std::string refusals_text(const store::Manifest& manifest) {
  const std::vector<std::string> layers = manifest.layers_refused();
  std::vector<std::string> by_machine;
  std::vector<std::string> by_choice;
  std::set<std::string> named;
  for (const store::HookReport& hook : manifest.hooks) {
    if (!hook.hook.empty())
      continue;
    const schema::Event* event = schema::find_event(hook.event);
    const std::string_view layer =
        event ? schema::layer_name(static_cast<std::uint32_t>(event->layer)) : "";
    const bool is_whole_layer = std::ranges::find(layers, layer) != layers.end();
    std::string what = is_whole_layer ? fmt::format("layer {}", layer) : hook.event;
    if (named.insert(what).second)
      (hook.remedy == store::kAskForOther ? by_choice : by_machine).push_back(std::move(what));
  }
  if (names_files(manifest) &&
      std::ranges::find(manifest.layers, schema::layer_name(IOT_LAYER_block)) !=
          manifest.layers.end())
    by_choice.emplace_back("block I/O for no file that no sync of the files waits for");
  std::string text;
  if (!by_machine.empty())
    text = fmt::format("not recorded: {}; why: iotrail doctor", fmt::join(by_machine, ", "));
  if (!by_choice.empty())
    text += fmt::format(
        "{}left out, since it does not go with what was to be recorded{}: {}",
        text.empty() ? "" : "; ",
        manifest.filters.empty() ? "" : fmt::format(" ({})", fmt::join(manifest.filters, " ")),
        fmt::join(by_choice, ", "));
  return text;
}

std::string bare_file_systems_text(const store::Manifest& manifest) {
  const std::string layer(schema::layer_name(IOT_LAYER_fs));
  const std::vector<std::string> refused = manifest.layers_refused();
  if (manifest.bare_file_systems.empty() ||
      std::ranges::find(manifest.layers, layer) == manifest.layers.end() ||
      std::ranges::find(refused, layer) != refused.end())
    return {};
  return fmt::format("no events of the layer {} from {}: seen at the other layers only", layer,
                     fmt::join(manifest.bare_file_systems, ", "));
}

void print_refusals(const store::Manifest& manifest, Sink& sink, std::size_t width) {
  const std::string text = refusals_text(manifest);
  if (text.empty())
    return;
  sink.put('\n');
  for (const std::string& line : wrapped(printable(shortened_fact(text, width)), width))
    sink.print("{}\n", line);
}

void print_gaps(const SmallResult& totals, Sink& sink, std::size_t width) {
  for (std::size_t row = 0; row < totals.size(); ++row)
    if (is_gap(totals, row))
      print_sentence(sink,
                     fmt::format("EVENTS MAY BE MISSING, {} ({}): {}",
                                 human_count_of(totals.number(row, "events"), "time"),
                                 printable(totals.text(row, "counter")),
                                 printable(totals.text(row, "doc"))),
                     width);
}

void print_losses(const store::TraceReader& trace, const SmallResult& totals, Sink& sink,
                  std::size_t width) {
  const store::Manifest& manifest = trace.manifest();
  sink.put("\nLosses\n");
  print_tallies(manifest, totals, sink, width);
  print_gaps(totals, sink, width);
  if (totals.size() == 0)
    return;
  TextTable table({{"counter", Align::left},
                   {"severity", Align::left, Fit::whole, 2},
                   {"count", Align::right},
                   {"when", Align::left, Fit::whole, 1},
                   {"meaning", Align::left, Fit::wrap}});
  for (std::size_t row = 0; row < totals.size(); ++row)
    table.add({counter_text(totals, row), totals.text(row, "severity"),
               human_count(totals.number(row, "events")), when_lost(totals, row, manifest.begin_ns),
               totals.text(row, "doc")});
  table.print(sink, "  ", width);
}

} // namespace iotrail::output

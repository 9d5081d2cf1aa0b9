// SPDX-License-Identifier: BSD-3-Clause
#include "output/report_summary.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "output/printable.hpp"
#include "output/table.hpp"
#include "output/units.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

constexpr std::size_t kFactIndent = 12;

void print_fact(Sink& sink, std::string_view name, std::string_view value, std::size_t width) {
  if (value.empty())
    return;
  for (const std::string& line : wrapped(printable(value), width - kFactIndent)) {
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

std::string begin_text(const store::Manifest& manifest) {
  return manifest.begin_ns == 0 ? "" : human_date(manifest.begin_real_ns());
}

std::string state_text(const store::TraceReader& trace) {
  const store::Manifest& manifest = trace.manifest();
  std::string text = run_text(trace);
  text += fmt::format("{}{}", text.empty() ? "" : ", ", store::state_name(manifest.state));
  if (!manifest.stop_reason.empty())
    text += ": " + manifest.stop_reason;
  if (manifest.command_status >= 0 && !manifest.command.empty())
    text += fmt::format(" with status {}", manifest.command_status);
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

// A trace without an end says so before anything else: its other numbers are a lower bound.
std::string_view state_warning(store::State state) {
  switch (state) {
  case store::State::COMPLETE:
    return {};
  case store::State::INITIALIZING:
  case store::State::RUNNING:
    return "STILL RECORDING: this is what is on disk by now.";
  case store::State::INCOMPLETE:
    return "INCOMPLETE TRACE: the recorder ended without closing it. All events up to its last "
           "block are here; how many came after that is not known.";
  case store::State::ERROR:
    return "RECORDING FAILED: what is here was recorded before that.";
  }
  return {};
}

void print_warnings(const store::TraceReader& trace, Sink& sink, std::size_t width) {
  if (const std::string_view warning = state_warning(trace.manifest().state);
      !trace.damage().manifest && !warning.empty()) // without one the state is not known
    print_sentence(sink, warning, width);
  for (const std::string& sentence : damage_sentences(trace))
    print_sentence(sink, printable(sentence), width);
  for (const std::string& sentence : choice_sentences(trace.manifest()))
    print_sentence(sink, sentence, width);
}

std::string lost_share(std::uint64_t lost, std::uint64_t produced) {
  return human_share(static_cast<double>(lost) /
                     static_cast<double>(std::max<std::uint64_t>(1, produced)));
}

std::string events_text(const store::Manifest& manifest) {
  std::uint64_t produced = 0;
  std::uint64_t lost = 0;
  for (const store::SourceTally& source : manifest.sources) {
    produced += source.produced;
    lost += source.lost;
  }
  if (manifest.sources.empty())
    return {};
  if (lost == 0 && manifest.gaps() != 0)
    return fmt::format("{}, SOME MAY BE MISSING: see Losses", human_count(produced));
  if (lost == 0)
    return fmt::format("{}, none lost", human_count(produced));
  const std::uint64_t all = produced + manifest.left_out(); // of which any may have been lost
  return fmt::format("{} OF {} EVENTS LOST ({}): see Losses", human_count(lost), human_count(all),
                     lost_share(lost, all));
}

void print_tallies(const store::Manifest& manifest, Sink& sink) {
  for (const store::SourceTally& source : manifest.sources) {
    const bool adds_up = source.produced == source.written + source.lost;
    if (source.lost == 0 && adds_up)
      sink.print("  {}: none lost while recording, {} events produced == {} written\n",
                 printable(source.name), human_count(source.produced), human_count(source.written));
    else
      sink.print("  {}: {} OF {} EVENTS LOST ({}), {} written{}\n", printable(source.name),
                 human_count(source.lost), human_count(source.produced),
                 lost_share(source.lost, source.produced), human_count(source.written),
                 adds_up ? "" : "; THESE NUMBERS DO NOT ADD UP");
  }
}

void print_gaps(const SmallResult& totals, Sink& sink, std::size_t width) {
  for (std::size_t row = 0; row < totals.size(); ++row)
    if (totals.text(row, "severity") == schema::severity_name(schema::Severity::gap))
      print_sentence(sink,
                     fmt::format("EVENTS MAY BE MISSING, {} times: {}",
                                 human_count(totals.number(row, "events")),
                                 printable(totals.text(row, "doc"))),
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

} // namespace

std::vector<std::string> damage_sentences(const store::TraceReader& trace) {
  std::vector<std::string> sentences;
  const store::Damage damage = trace.damage();
  if (damage.manifest)
    sentences.emplace_back("DAMAGED TRACE: it has no manifest that can be believed.");
  if (damage.any_skipped())
    sentences.push_back(
        fmt::format("DAMAGED TRACE: {} in {} block{} could not be read; {} rows are missing, as "
                    "far as can be told.",
                    human_bytes(damage.bytes_skipped), human_count(damage.blocks_skipped),
                    damage.blocks_skipped == 1 ? "" : "s", human_count(damage.rows_skipped)));
  sentences.insert(sentences.end(), trace.notices().begin(), trace.notices().end());
  return sentences;
}

std::string layers_text(const store::Manifest& manifest) {
  const std::vector<std::string> refused = manifest.layers_refused();
  std::vector<std::string> recorded = manifest.layers;
  for (const std::string& layer : refused)
    std::erase(recorded, layer);
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
  print_fact(sink, "goes on", fmt::format("{}", fmt::join(manifest.still_running, ", ")), width);
  print_fact(sink, "unseen", fmt::format("{}", fmt::join(manifest.not_followed, "; ")), width);
  print_fact(sink, "filters", fmt::format("{}", fmt::join(manifest.filters, "; ")), width);
  print_fact(sink, "limits", fmt::format("{}", fmt::join(manifest.limits, "; ")), width);
  print_fact(sink, "events", events_text(manifest), width);
  print_fact(sink, "only", selection, width);
  print_warnings(trace, sink, width);
}

void print_recording(const store::Manifest& manifest, Sink& sink, std::size_t width) {
  sink.put("\nRecording\n");
  print_fact(sink, "begin", begin_text(manifest), width);
  print_fact(sink, "machine", machine_text(manifest), width);
  print_fact(sink, "recorder", recorder_text(manifest), width);
}

std::vector<std::string> choice_sentences(const store::Manifest& manifest) {
  std::vector<std::string> sentences;
  if (manifest.sample_of != 0)
    sentences.push_back(
        fmt::format("A SAMPLE: of {0} calls one was recorded, by chance, with what it did itself. "
                    "Multiply its counts, bytes and total times by {0}, but not what the kernel "
                    "wrote back later: that is all there, whoever wrote it.",
                    human_count(manifest.sample_of)));
  if (const std::uint64_t left_out = manifest.left_out(); left_out != 0)
    sentences.push_back(
        fmt::format("WITHOUT {} event{} of operations that took or moved less than was "
                    "asked for. What the kernel wrote back later is all there, "
                    "whoever wrote it.",
                    human_count(left_out), left_out == 1 ? "" : "s"));
  return sentences;
}

std::string refusals_text(const store::Manifest& manifest) {
  const std::vector<std::string> layers = manifest.layers_refused();
  std::vector<std::string> missing;
  for (const std::string& layer : layers)
    missing.push_back("layer " + layer);
  for (const store::HookReport& hook : manifest.hooks) {
    const bool has_layer = std::ranges::any_of(
        layers, [&](const std::string& layer) { return hook.event.starts_with(layer + "_"); });
    if (hook.hook.empty() && !has_layer)
      missing.push_back(hook.event);
  }
  return missing.empty()
             ? ""
             : fmt::format("not recorded: {}; why: iotrail doctor", fmt::join(missing, ", "));
}

void print_refusals(const store::Manifest& manifest, Sink& sink, std::size_t width) {
  const std::string text = refusals_text(manifest);
  if (text.empty())
    return;
  sink.put('\n');
  for (const std::string& line : wrapped(printable(text), width))
    sink.print("{}\n", line);
}

void print_losses(const store::TraceReader& trace, const SmallResult& totals, Sink& sink,
                  std::size_t width) {
  const store::Manifest& manifest = trace.manifest();
  sink.put("\nLosses\n");
  print_tallies(manifest, sink);
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

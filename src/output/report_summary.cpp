// SPDX-License-Identifier: BSD-3-Clause
#include "output/report_summary.hpp"

#include <map>

#include <fmt/ranges.h>

#include "output/printable.hpp"
#include "output/table.hpp"
#include "output/units.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

void print_fact(Sink& sink, std::string_view name, std::string_view value) {
  if (!value.empty())
    sink.print("  {:<10}{}\n", name, printable(value));
}

std::uint64_t last_event_ns(const store::TraceReader& trace) {
  std::uint64_t last_ns = 0;
  for (const store::BlockInfo& block : trace.blocks())
    if (const store::TableInfo* table = trace.table(block.kind);
        table && table->layer != "dictionary")
      last_ns = std::max(last_ns, block.last_ns);
  return last_ns;
}

std::string command_text(const store::Manifest& manifest) {
  if (manifest.command.empty())
    return {};
  const std::string command = fmt::format("{}", fmt::join(manifest.command, " "));
  return manifest.command_status < 0
             ? command
             : fmt::format("{}  (status {})", command, manifest.command_status);
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
std::string when_text(const store::TraceReader& trace) {
  const store::Manifest& manifest = trace.manifest();
  if (manifest.begin_ns == 0)
    return {};
  std::string begin =
      human_date(static_cast<std::int64_t>(manifest.begin_ns) + manifest.monotonic_to_real_ns);
  if (manifest.end_ns >= manifest.begin_ns)
    return fmt::format("{}, for {}", begin, human_duration(manifest.end_ns - manifest.begin_ns));
  const std::uint64_t last_ns = last_event_ns(trace);
  if (last_ns <= manifest.begin_ns)
    return begin;
  return fmt::format("{}, last event after {}", begin, human_duration(last_ns - manifest.begin_ns));
}

std::string state_text(const store::Manifest& manifest) {
  std::string text(store::state_name(manifest.state));
  if (!manifest.stop_reason.empty())
    text += ": " + manifest.stop_reason;
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

bool is_refused(const std::string& layer, const std::vector<store::HookReport>& hooks) {
  bool is_known = false;
  for (const store::HookReport& hook : hooks) {
    const schema::Event* event = schema::find_event(hook.event);
    if (!event || schema::layer_name(static_cast<std::uint32_t>(event->layer)) != layer)
      continue;
    if (!hook.hook.empty())
      return false;
    is_known = true;
  }
  return is_known;
}

// A trace without an end says so before anything else: its other numbers are a lower bound.
void print_state_warning(const store::Manifest& manifest, Sink& sink) {
  switch (manifest.state) {
  case store::State::COMPLETE:
    return;
  case store::State::INITIALIZING:
  case store::State::RUNNING:
    sink.put("  STILL RECORDING: this is what is on disk by now.\n");
    return;
  case store::State::INCOMPLETE:
    sink.put("  INCOMPLETE TRACE: the recorder ended without closing it. All events up to its last "
             "block are\n  here; how many came after that is not known.\n");
    return;
  case store::State::ERROR:
    sink.put("  RECORDING FAILED: what is here was recorded before that.\n");
    return;
  }
}

void print_damage(const store::Damage& damage, Sink& sink) {
  if (!damage.any())
    return;
  sink.print("  DAMAGED TRACE: {} in {} block{} could not be read; {} rows are missing, as far as "
             "can be told.\n",
             human_bytes(damage.bytes_skipped), human_count(damage.blocks_skipped),
             damage.blocks_skipped == 1 ? "" : "s", human_count(damage.rows_skipped));
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0)
    return "0 %";
  const double share = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return share > 0 && share < 0.05 ? "less than 0.1 %" : fmt::format("{:.1f} %", share);
}

void print_tallies(const store::Manifest& manifest, Sink& sink) {
  for (const store::SourceTally& source : manifest.sources) {
    const bool adds_up = source.produced == source.written + source.lost;
    if (source.lost == 0 && adds_up)
      sink.print("  {}: none lost while recording, {} events produced == {} written\n", source.name,
                 human_count(source.produced), human_count(source.written));
    else
      sink.print("  {}: {} OF {} EVENTS LOST ({}), {} written{}\n", source.name,
                 human_count(source.lost), human_count(source.produced),
                 percent(source.lost, source.produced), human_count(source.written),
                 adds_up ? "" : "; THESE NUMBERS DO NOT ADD UP");
  }
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

std::string layers_text(const store::Manifest& manifest) {
  std::vector<std::string> recorded;
  std::vector<std::string> refused;
  for (const std::string& layer : manifest.layers)
    (is_refused(layer, manifest.hooks) ? refused : recorded).push_back(layer);
  std::string text = fmt::format("{}", fmt::join(recorded, ", "));
  if (!refused.empty())
    text += fmt::format("{}not recorded: {}", text.empty() ? "" : "; ", fmt::join(refused, ", "));
  return text;
}

void print_trace_header(const store::TraceReader& trace, Sink& sink) {
  const store::Manifest& manifest = trace.manifest();
  sink.print("Trace {}\n", printable(trace.path().filename().string()));
  print_fact(sink, "command", command_text(manifest));
  print_fact(sink, "machine", machine_text(manifest));
  print_fact(sink, "begin", when_text(trace));
  print_fact(sink, "state", state_text(manifest));
  print_fact(sink, "layers", layers_text(manifest));
  print_fact(sink, "filters", fmt::format("{}", fmt::join(manifest.filters, "; ")));
  print_fact(sink, "limits", fmt::format("{}", fmt::join(manifest.limits, "; ")));
  print_fact(sink, "recorder", recorder_text(manifest));
}

void print_refusals(const store::Manifest& manifest, Sink& sink) {
  // Events that the same remedy would bring back are one entry; each one's own reason is told by `iotrail doctor`.
  std::map<std::string, std::vector<const store::HookReport*>> refused;
  for (const store::HookReport& hook : manifest.hooks)
    if (hook.hook.empty())
      refused[hook.remedy].push_back(&hook);
  if (refused.empty())
    return;
  sink.put("\nNot recorded\n");
  for (const auto& [remedy, hooks] : refused) {
    const store::HookReport& first = *hooks.front();
    std::vector<std::string_view> events;
    bool is_same_reason = true;
    for (const store::HookReport* hook : hooks) {
      events.push_back(hook->event);
      is_same_reason = is_same_reason && hook->reason == first.reason;
    }
    sink.print("  {}\n", fmt::join(events, ", "));
    if (!first.reason.empty())
      sink.print("    because{} {}\n", is_same_reason ? "" : fmt::format(", of {},", first.event),
                 first.reason);
    if (!remedy.empty())
      sink.print("    to change this: {}\n", remedy);
  }
}

void print_losses(const store::TraceReader& trace, const SmallResult& totals, Sink& sink) {
  const store::Manifest& manifest = trace.manifest();
  sink.put("\nLosses\n");
  print_state_warning(manifest, sink);
  print_damage(trace.damage(), sink);
  for (const std::string& notice : trace.notices())
    sink.print("  {}\n", notice);
  print_tallies(manifest, sink);
  if (totals.size() == 0)
    return;
  TextTable table({{"counter", Align::left},
                   {"severity", Align::left},
                   {"count", Align::right},
                   {"when", Align::left},
                   {"meaning", Align::left}});
  for (std::size_t row = 0; row < totals.size(); ++row)
    table.add({totals.text(row, "counter"), totals.text(row, "severity"),
               human_count(totals.number(row, "events")), when_lost(totals, row, manifest.begin_ns),
               totals.text(row, "doc")});
  table.print(sink, "  ");
}

} // namespace iotrail::output

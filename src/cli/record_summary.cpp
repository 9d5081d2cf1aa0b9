// SPDX-License-Identifier: BSD-3-Clause
#include "cli/record_summary.hpp"

#include <algorithm>
#include <cstdio>

#include "capture/preload/preload_source.hpp"
#include "cli/units.hpp"
#include "schema.hpp"

namespace iotrail::cli {
namespace {

std::string layer_of(const std::string& event) {
  const schema::Event* row = schema::find_event(event);
  return row == nullptr ? ""
                        : std::string(schema::layer_name(static_cast<std::uint32_t>(row->layer)));
}

// Layers asked for of which no event is served.
std::vector<std::string> layers_not_served(const store::Manifest& manifest) {
  std::vector<std::string> missing;
  for (const std::string& layer : manifest.layers) {
    const bool served = std::ranges::any_of(manifest.hooks, [&](const store::HookReport& hook) {
      return !hook.hook.empty() && layer_of(hook.event) == layer;
    });
    if (!served)
      missing.push_back(layer);
  }
  return missing;
}

const store::HookReport* first_unserved(const store::Manifest& manifest, const std::string& layer) {
  for (const store::HookReport& hook : manifest.hooks)
    if (layer_of(hook.event) == layer && hook.hook.empty())
      return &hook;
  return nullptr;
}

std::string reason_of(const store::HookReport& hook) {
  return hook.remedy.empty() ? hook.reason : fmt::format("{}; {}", hook.reason, hook.remedy);
}

bool is_refused(const std::string& source, const std::vector<capture::Refusal>& refusals) {
  return std::ranges::find(refusals, source, &capture::Refusal::source) != refusals.end();
}

void print_layers(const store::Manifest& manifest) {
  fmt::print(stderr, "  {:<10}{:>14}\n", "layer", "events");
  const std::vector<std::string> missing = layers_not_served(manifest);
  for (const std::string& layer : manifest.layers) {
    if (std::ranges::find(missing, layer) != missing.end()) {
      fmt::print(stderr, "  {:<10}{:>14}\n", layer, "not recorded");
      continue;
    }
    std::uint64_t events = 0;
    for (const auto& [event, rows] : manifest.counts)
      if (layer_of(event) == layer)
        events += rows;
    fmt::print(stderr, "  {:<10}{:>14}\n", layer, count_text(events));
  }
}

void print_account(const store::Manifest& manifest) {
  for (const store::SourceTally& tally : manifest.sources) {
    fmt::print(stderr, "  {}: {} produced = {} written + {} lost\n", tally.name,
               count_text(tally.produced), count_text(tally.written), count_text(tally.lost));
    if (tally.produced != tally.written + tally.lost)
      fmt::print(
          stderr,
          "  WARNING: this does not add up; iotrail has a bug, and the trace may miss events\n");
  }
  for (const auto& [name, value] : manifest.counters)
    for (const schema::Counter& row : schema::kCounters)
      if (row.name == name)
        fmt::print(stderr, "  {}: {} ({})\n", name, count_text(value), row.doc);
}

} // namespace

void warn_of_obstacle(const std::string& command) {
  const auto file = capture::find_command(command);
  if (!file)
    return;
  if (const std::string why = capture::preload_obstacle(*file); !why.empty())
    fmt::print(stderr,
               "iotrail: the app layer will not see {}: {}. The kernel's layers record it.\n",
               command, why);
}

void print_begin(const store::Manifest& manifest, const std::vector<capture::Refusal>& refusals) {
  for (const capture::Refusal& refusal : refusals)
    fmt::print(stderr, "iotrail: the {} source is off: {}\n", refusal.source,
               refusal.error.message());
  for (const std::string& layer : layers_not_served(manifest))
    if (const store::HookReport* hook = first_unserved(manifest, layer);
        hook != nullptr && !is_refused(hook->source, refusals))
      fmt::print(stderr, "iotrail: layer {} is not recorded: {}\n", layer, reason_of(*hook));
  if (manifest.command.empty())
    fmt::print(stderr, "iotrail: recording; interrupt (Ctrl-C) to end\n");
}

void print_losses(const capture::SessionSummary& summary, const std::filesystem::path& trace) {
  const store::Manifest& manifest = summary.manifest;
  if (const std::uint64_t lost = manifest.lost(); lost != 0)
    fmt::print(stderr, "iotrail: {} of {} events were lost; see: iotrail report {}\n",
               count_text(lost), count_text(lost + manifest.events()), trace.native());
}

void print_summary(const capture::SessionSummary& summary, const std::filesystem::path& trace) {
  const store::Manifest& manifest = summary.manifest;
  fmt::print(stderr, "iotrail: {} after {}\n", manifest.stop_reason,
             seconds_text(manifest.end_ns - manifest.begin_ns));
  print_layers(manifest);
  print_account(manifest);
  const std::uint64_t events = manifest.events();
  fmt::print(stderr, "  on disk {}{}; recorder: {} of CPU, {} of memory and {} of rings\n",
             bytes_text(manifest.events_bytes),
             events == 0 ? ""
                         : fmt::format(" ({:.1f} bytes an event)",
                                       static_cast<double>(manifest.events_bytes) /
                                           static_cast<double>(events)),
             seconds_text(manifest.recorder_cpu_ns), bytes_text(manifest.recorder_memory_bytes),
             bytes_text(manifest.ring_memory_bytes));
  fmt::print(stderr, "  trace {}\n  read it with: iotrail report {}\n", trace.native(),
             trace.native());
}

} // namespace iotrail::cli

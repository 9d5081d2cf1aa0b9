// SPDX-License-Identifier: BSD-3-Clause
#include "cli/record_summary.hpp"

#include <algorithm>
#include <cstdio>
#include <span>

#include <fmt/ranges.h>

#include "base/shell_word.hpp"
#include "capture/preload/collector/preload_source.hpp"
#include "capture/session/command.hpp"
#include "cli/messages.hpp"
#include "render/text/value_text.hpp"
#include "report/sample.hpp"
#include "report/trace_facts.hpp"
#include "report/warnings.hpp"
#include "schema.hpp"
#include "store/reader/trace_reader.hpp"
#include "text/printable.hpp"
#include "text/text_width.hpp"
#include "text/units.hpp"
#include "trail/trails.hpp"

namespace iotrail::cli {
namespace {

void say(const Stream& err, std::string_view text) {
  print_message(err, text, err.width());
}

std::string layer_of(const std::string& event) {
  const schema::Event* row = schema::find_event(event);
  return row == nullptr ? ""
                        : std::string(schema::layer_name(static_cast<std::uint32_t>(row->layer)));
}

// For a sample also the estimated number of all calls.
void print_layers(const Stream& err, const store::Manifest& manifest) {
  const output::Sample sample(manifest.sample_of);
  fmt::print(err.file, "  {:<10}{:>14}{}\n", "layer", "events",
             manifest.sample_of == 0 ? "" : fmt::format("{:>18}", "of all calls"));
  const std::vector<std::string> missing = manifest.layers_refused();
  for (const std::string& layer : manifest.layers) {
    if (std::ranges::find(missing, layer) != missing.end()) {
      fmt::print(err.file, "  {:<10}{:>14}\n", layer, "not recorded");
      continue;
    }
    std::uint64_t events = 0;
    for (const auto& [event, rows] : manifest.counts)
      if (layer_of(event) == layer)
        events += rows;
    const std::uint64_t scale_factor = sample.scale_factor(layer);
    const std::string estimate(output::estimate_mark(events, scale_factor));
    fmt::print(err.file, "  {:<10}{:>14}{}\n", layer, output::human_count(events),
               estimate.empty()
                   ? ""
                   : fmt::format("{:>18}", estimate + output::human_count(
                                                          output::scaled(events, scale_factor))));
  }
}

void print_account(const Stream& err, const store::Manifest& manifest) {
  for (const store::SourceTally& tally : manifest.sources) {
    say(err, fmt::format("  {}: {} produced = {} written + {} lost", tally.name,
                         output::human_count(tally.produced), output::human_count(tally.written),
                         output::human_count(tally.lost)));
    if (tally.produced != tally.written + tally.lost)
      say(err, "  WARNING: this does not add up; iotrail has a bug, and the trace may miss events");
  }
  print_counters(err, manifest);
}

void print_not_asked_for(const Stream& err, const store::Manifest& manifest,
                         std::span<const std::string_view> events) {
  const std::vector<std::string> refused = manifest.layers_refused(); // have a line of their own
  std::vector<std::string_view> shown;
  for (const std::string_view event : events)
    if (std::ranges::find(refused, layer_of(std::string(event))) == refused.end())
      shown.push_back(event);
  if (!shown.empty())
    say(err, fmt::format("  left out, since --events did not ask: {}", fmt::join(shown, ", ")));
}

constexpr std::size_t kShownRunning = 8;

// With more events, finding the causes would delay the summary too long.
constexpr std::uint64_t kEventsToExplain = 2'000'000;

// How much of what the devices did has a cause.
void print_causes(const Stream& err, const store::Manifest& manifest,
                  const std::filesystem::path& path) {
  const auto completed = manifest.counts.find("block_complete");
  if (completed == manifest.counts.end() || completed->second == 0 ||
      manifest.events() > kEventsToExplain)
    return;
  const auto trace = store::TraceReader::open(path);
  if (!trace)
    return; // the trace is written; the verb that reads it reports the error
  const trail::CompletedBytes bytes = trail::sum_completed(trail::find_trails(**trace));
  const auto share = [&](std::uint64_t part) {
    return output::human_share(static_cast<double>(part) / static_cast<double>(bytes.all));
  };
  if (bytes.all != 0)
    say(err,
        fmt::format("  devices completed {}: {} with a cause, {} beyond doubt",
                    output::human_bytes(bytes.all), share(bytes.attributed), share(bytes.exact)));
}

// What they do from now on is in no trace.
void print_still_running(const Stream& err, const store::Manifest& manifest) {
  const std::vector<std::string>& all = manifest.still_running;
  if (all.empty())
    return;
  const std::size_t shown = std::min(all.size(), kShownRunning);
  say(err, fmt::format(
               "iotrail: {} process{} on and {} no more recorded: {}{}{}",
               output::human_count(all.size()), all.size() == 1 ? " goes" : "es go",
               all.size() == 1 ? "is" : "are",
               output::printable(fmt::format("{}", fmt::join(std::span(all).first(shown), ", "))),
               all.size() > shown ? ", ..." : "",
               manifest.stop_reason.ends_with("ended") ? "; --follow waits"
                                                       : "")); // limits end that too
}

} // namespace

void warn_of_blocker(const Stream& err, const std::vector<std::string>& command) {
  const auto file = capture::find_command(command.front());
  if (!file)
    return;
  if (const std::string why = capture::preload_blocker_text(*file, command); !why.empty())
    print_message(
        err,
        fmt::format("iotrail: the app layer will not see {}: {}. The kernel's layers record it.",
                    output::printable(command.front()), why));
}

void print_counters(const Stream& err, const store::Manifest& manifest) {
  for (const auto& [name, value] : manifest.counters)
    if (const schema::Counter* counter = schema::find_counter(name))
      say(err, fmt::format("  {}: {} ({})", name, output::human_count(value), counter->doc));
}

// Some errors name the source themselves.
std::string refusal_text(const capture::UnavailableSource& refusal) {
  const std::string source = fmt::format("the {} source", refusal.source);
  const std::string why = output::printable_lines(refusal.error.message());
  return why.starts_with(source) ? why : fmt::format("{} cannot be used: {}", source, why);
}

void print_begin(const Stream& err, bool is_endless,
                 const std::vector<capture::UnavailableSource>& refusals) {
  for (const capture::UnavailableSource& refusal : refusals)
    print_message(err, "iotrail: " + refusal_text(refusal));
  if (is_endless)
    fmt::print(err.file, "iotrail: recording; interrupt (Ctrl-C) to end\n");
}

void print_losses(const Stream& err, const store::Manifest& manifest,
                  const std::filesystem::path& trace) {
  if (manifest.state == store::State::ERROR)
    say(err, "iotrail: " + output::printable(manifest.stop_reason));
  print_still_running(err, manifest);
  const std::uint64_t all =
      manifest.lost() + manifest.events() + manifest.summed_up() + manifest.left_out();
  const std::string more =
      trace.empty() ? "" : "; see: iotrail report " + shell_word(output::printable(trace.native()));
  if (const std::uint64_t lost = manifest.lost(); lost != 0)
    say(err, fmt::format("iotrail: {} of {} events were lost{}", output::human_count(lost),
                         output::human_count(all), more));
  for (const auto& [name, value] : manifest.counters)
    if (const schema::Counter* counter = schema::find_counter(name);
        counter != nullptr && counter->severity == schema::Severity::gap)
      say(err, fmt::format("iotrail: events may be missing, {} time{}: {}",
                           output::human_count(value), value == 1 ? "" : "s", counter->doc));
}

void print_failure(const Stream& err, const Error& failure) {
  print_message(err, fmt::format("iotrail: {}", output::printable_lines(failure.message())));
}

void print_disk_wait(const Stream& err) {
  print_if_open(err, [&] {
    print_message(err, "iotrail: waiting for the disk of the trace. Ctrl-C ends iotrail at once; "
                       "the trace then lacks its end.");
  });
}

void print_summary(const Stream& err, const store::Manifest& manifest,
                   const std::filesystem::path& trace,
                   std::span<const std::string_view> not_asked_for) {
  const bool has_failed = manifest.command_status > 0;
  say(err,
      fmt::format("iotrail: {}{} after {}", output::printable(manifest.stop_reason),
                  has_failed ? " with status " + output::human_status(manifest.command_status) : "",
                  output::human_duration(manifest.end_ns - manifest.begin_ns)));
  print_still_running(err, manifest);
  print_layers(err, manifest);
  print_account(err, manifest);
  print_causes(err, manifest, trace);
  const std::uint64_t events = manifest.events();
  say(err, fmt::format("  events on disk {}{}; recorder: {} of CPU, {} of memory and {} of rings",
                       output::human_bytes(manifest.events_bytes),
                       events == 0 ? ""
                                   : fmt::format(" ({:.1f} bytes each)",
                                                 static_cast<double>(manifest.events_bytes) /
                                                     static_cast<double>(events)),
                       output::human_duration(manifest.recorder_cpu_ns),
                       output::human_bytes(manifest.recorder_memory_bytes),
                       output::human_bytes(manifest.ring_memory_bytes)));
  for (const output::Sentence& choice : output::choice_sentences(manifest))
    say(err, fmt::format("  {}", output::sentence_text(choice)));
  if (const std::string refusals = output::refusals_text(manifest); !refusals.empty())
    say(err, fmt::format("  {}", output::printable(refusals)));
  if (const std::string bare = output::unsupported_file_systems_text(manifest); !bare.empty())
    say(err, fmt::format("  {}", output::printable(bare)));
  print_not_asked_for(err, manifest, not_asked_for);
  const std::string name = output::printable(trace.native());
  fmt::print(err.file, "  trace {}\n  read it with: iotrail report {}\n", name, shell_word(name));
}

} // namespace iotrail::cli

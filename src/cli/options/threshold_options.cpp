// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options/threshold_options.hpp"

#include <algorithm>

#include "capture/selection/deferred_filter.hpp"
#include "cli/options/parse_units.hpp"
#include "schema.hpp"

namespace iotrail::cli {
namespace {

bool records_calls(const capture::Filter& filter) {
  return std::ranges::any_of(schema::kEvents, [&](const schema::Event& event) {
    return event.layer == schema::Layer::syscall && filter.records(event);
  });
}

// A sum may have the event: it is an operation, or no effect of one.
bool is_counted(const schema::Event& event) {
  return capture::ends_operation(event) || event.layer == schema::Layer::process;
}

bool is_any_counted(std::string_view layer) {
  return std::ranges::any_of(schema::kEvents, [&](const schema::Event& event) {
    return schema::layer_name(static_cast<iot_u32>(event.layer)) == layer && is_counted(event);
  });
}

// What the user named and no sum may have; empty: nothing.
std::string not_counted(const EventOptions& named) {
  for (const std::string& layer : named.layers)
    if (!is_any_counted(layer))
      return "the layer " + layer;
  for (const std::string& name : named.events)
    if (const schema::Event* event = schema::find_event(name); event && !is_counted(*event))
      return "the event " + name;
  return {};
}

bool records_kernel(const capture::Filter& filter) {
  return std::ranges::any_of(filter.layers, [](schema::Layer layer) {
    return schema::source_of(layer) == IOT_source_kernel;
  });
}

} // namespace

void declare_thresholds(CLI::App& app, ThresholdOptions& options) {
  app.option_defaults()->group("Operations to record");
  app.add_option("--min-latency", options.latency,
                 "Only operations that took at least this long (1ms), with their effects")
      ->type_name("TIME");
  app.add_option("--min-size", options.size,
                 "Only operations that moved at least this many bytes (64K), with their effects; "
                 "with --min-latency, both conditions apply")
      ->type_name("SIZE");
}

Result<void> select_thresholds(const ThresholdOptions& options, capture::Filter& filter) {
  const auto latency_ns = parse_duration("--min-latency", options.latency.value_or(""));
  if (!latency_ns)
    return std::unexpected(latency_ns.error());
  const auto bytes = parse_size("--min-size", options.size.value_or(""));
  if (!bytes)
    return std::unexpected(bytes.error());
  filter.thresholds = {.latency_ns = *latency_ns, .bytes = *bytes};
  if (filter.thresholds.is_set() && records_kernel(filter) && !records_calls(filter))
    return fail_usage(fmt::format("{} needs the layer syscall",
                                  *latency_ns != 0 ? "--min-latency" : "--min-size"),
                      "it is the calls that tell how much was done",
                      "Add `syscall` to --layers, or the calls that count to --events.");
  return {};
}

void declare_min_latency(CLI::App& app, ThresholdOptions& options) {
  app.option_defaults()->group("Operations to record");
  app.add_option("--min-latency", options.latency,
                 "Count only operations that took at least this long (1ms), and no effects of them")
      ->type_name("TIME");
}

Result<void> select_min_latency(const ThresholdOptions& options, const EventOptions& named,
                                capture::Filter& filter) {
  if (!options.latency)
    return {};
  if (const std::string what = not_counted(named); !what.empty())
    return fail_usage(fmt::format("--min-latency: {} cannot be counted", what),
                      "the kernel adds events up before the operation that caused them has ended",
                      "`iotrail record --min-latency` records them; `report` adds them up.");
  std::vector<std::string> events;
  for (const schema::Event& event : schema::kEvents)
    if (filter.records(event) && is_counted(event))
      events.emplace_back(event.name);
  if (events.empty())
    return fail_usage("--min-latency needs the layer syscall");
  filter.events = std::move(events);
  std::erase_if(filter.layers, [](schema::Layer layer) {
    return !is_any_counted(schema::layer_name(static_cast<iot_u32>(layer)));
  });
  return select_thresholds(options, filter);
}

std::vector<std::string> filters_text(const ThresholdOptions& options) {
  std::vector<std::string> words;
  if (options.latency)
    words.push_back("--min-latency " + *options.latency);
  if (options.size)
    words.push_back("--min-size " + *options.size);
  return words;
}

} // namespace iotrail::cli

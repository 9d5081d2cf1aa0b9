// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options/event_options.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/nearest_name.hpp"

namespace iotrail::cli {
namespace {

bool can_be_recorded(schema::Layer layer) {
  return layer != schema::Layer::dictionary && layer != schema::Layer::snapshot &&
         !schema::has_own_verb(layer);
}

std::vector<std::string_view> layer_names() {
  std::vector<std::string_view> names;
  for (const schema::LayerInfo& row : schema::kLayers)
    if (can_be_recorded(row.layer))
      names.push_back(row.name);
  return names;
}

// Those that are named; of no names, those that are recorded where nothing is asked for.
Result<std::vector<schema::Layer>> parse_layers(std::string_view option,
                                                const std::vector<std::string>& names) {
  std::vector<schema::Layer> layers;
  const std::vector<std::string_view> known = layer_names();
  for (const schema::LayerInfo& row : schema::kLayers) {
    if (!can_be_recorded(row.layer))
      continue;
    const bool is_usual = names.empty() && !schema::is_on_request(row.layer);
    if (is_usual || std::ranges::find(names, row.name) != names.end())
      layers.push_back(row.layer);
  }
  for (const std::string& name : names)
    if (std::ranges::none_of(layers, [&](schema::Layer layer) {
          return schema::layer_name(static_cast<std::uint32_t>(layer)) == name;
        }))
      return fail_usage(fmt::format("{}: there is no layer '{}'", option, name),
                        fmt::format("the layers are {}", fmt::join(known, ", ")),
                        did_you_mean(name, known));
  return layers;
}

constexpr std::string_view kDefaultEvents = "default";
constexpr std::string_view kAllEvents = "all";

// What is recorded where nothing is asked for.
bool is_default(const schema::Event& event) {
  return !event.is_dictionary() && event.layer != schema::Layer::snapshot &&
         !schema::has_own_verb(event.layer) && !schema::is_on_request(event) &&
         !schema::is_on_request(event.layer);
}

bool can_be_asked_for(const schema::Event& event) {
  return !event.is_dictionary() && event.layer != schema::Layer::snapshot &&
         !schema::has_own_verb(event.layer);
}

std::vector<std::string_view> event_names() {
  std::vector<std::string_view> names;
  for (const schema::Event& event : schema::kEvents)
    if (can_be_asked_for(event))
      names.push_back(event.name);
  return names;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// With those for which `default` or `all` stands, which come first, as their layers do.
std::vector<std::string> expand_events(const std::vector<std::string>& names) {
  const bool has_all = contains(names, kAllEvents);
  const bool has_default = contains(names, kDefaultEvents);
  std::vector<std::string> events;
  for (const schema::Event& event : schema::kEvents)
    if ((has_all && can_be_asked_for(event)) || (has_default && is_default(event)))
      events.emplace_back(event.name);
  for (const std::string& name : names)
    if (name != kDefaultEvents && name != kAllEvents)
      events.push_back(name);
  return events;
}

// Events that are named also name their layers.
Result<void> check_events(std::string_view option, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const schema::Event* event = schema::find_event(name);
    if (event != nullptr && event->layer == schema::Layer::snapshot)
      return fail_usage(fmt::format("{}: '{}' is a table of snapshots", option, name),
                        "--snapshot records these");
    if (event != nullptr && schema::has_own_verb(event->layer))
      return fail_usage(fmt::format("{}: '{}' is a request of a mounted wrapper", option, name),
                        "`iotrail mount` records these");
    if (event == nullptr || event->is_dictionary())
      return fail_usage(fmt::format("{}: there is no event '{}'", option, name),
                        "`iotrail schema` lists the events", did_you_mean(name, event_names()));
  }
  return {};
}

std::vector<schema::Layer> layers_of(const std::vector<std::string>& events) {
  std::vector<schema::Layer> layers;
  for (const std::string& name : events)
    if (const schema::Layer layer = schema::find_event(name)->layer;
        std::ranges::find(layers, layer) == layers.end())
      layers.push_back(layer);
  return layers;
}

std::string layers_on_request() {
  std::vector<std::string_view> names;
  for (const schema::LayerInfo& row : schema::kLayers)
    if (schema::is_on_request(row.layer) && row.layer != schema::Layer::snapshot &&
        row.layer != schema::Layer::dictionary)
      names.push_back(row.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<void> leave_out_layers(const std::vector<std::string>& names, capture::Filter& filter) {
  if (names.empty())
    return {};
  const auto excluded = parse_layers("--exclude-layers", names);
  if (!excluded)
    return std::unexpected(excluded.error());
  std::erase_if(filter.layers, [&](schema::Layer layer) {
    return std::ranges::find(*excluded, layer) != excluded->end();
  });
  return {};
}

std::vector<std::string> recorded_events(const capture::Filter& filter) {
  std::vector<std::string> events;
  for (const schema::Event& event : schema::kEvents)
    if (filter.records(event))
      events.emplace_back(event.name);
  return events;
}

// All that would be recorded is named then, but for these.
Result<void> leave_out_events(const std::vector<std::string>& names, capture::Filter& filter) {
  if (names.empty())
    return {};
  if (Result<void> checked = check_events("--exclude-events", names); !checked)
    return checked;
  if (filter.events.empty())
    filter.events = recorded_events(filter);
  std::erase_if(filter.events, [&](const std::string& event) { return contains(names, event); });
  return {};
}

} // namespace

void declare_events(CLI::App& app, EventOptions& options) {
  app.option_defaults()->group("Layers and events to record");
  app.add_option("-l,--layers", options.layers,
                 fmt::format("Layers to record, separated by commas: {}; default: all but {}",
                             fmt::join(layer_names(), ", "), layers_on_request()))
      ->type_name("LAYER")
      ->delimiter(',');
  app.add_option("-e,--events", options.events,
                 "Events to record, separated by commas (syscall_write,block_issue); `default` "
                 "means all default events, `all` every event; `iotrail schema` lists them")
      ->type_name("EVENT")
      ->delimiter(',');
  app.add_option("--exclude-layers", options.excluded_layers, "Layers not to record")
      ->type_name("LAYER")
      ->delimiter(',');
  app.add_option("--exclude-events", options.excluded_events, "Events not to record")
      ->type_name("EVENT")
      ->delimiter(',');
}

Result<void> select_events(const EventOptions& options, bool has_command, capture::Filter& filter) {
  filter.events = expand_events(options.events);
  if (Result<void> checked = check_events("--events", filter.events); !checked)
    return checked;
  const auto layers = parse_layers("--layers", options.layers);
  if (!layers)
    return std::unexpected(layers.error());
  filter.layers =
      options.layers.empty() && !filter.events.empty() ? layers_of(filter.events) : *layers;
  const bool has_default = filter.events.empty() || contains(options.events, kDefaultEvents) ||
                           contains(options.events, kAllEvents);
  if (options.layers.empty() && !has_command && has_default)
    std::erase(filter.layers, schema::Layer::app);
  if (auto left = leave_out_layers(options.excluded_layers, filter); !left)
    return left;
  if (auto left = leave_out_events(options.excluded_events, filter); !left)
    return left;
  const bool has_events = // an empty list would not restrict
      !filter.layers.empty() && (options.excluded_events.empty() || !filter.events.empty()) &&
      std::ranges::any_of(schema::kEvents,
                          [&](const schema::Event& event) { return filter.records(event); });
  return has_events ? Result<void>{}
                    : fail_usage("nothing to record", "every event asked for is excluded");
}

std::vector<std::string_view> events_not_asked_for(const EventOptions& options,
                                                   const capture::Filter& filter) {
  std::vector<std::string_view> events;
  if (!options.events.empty() && !contains(options.events, kDefaultEvents))
    return events;
  for (const schema::Event& event : schema::kEvents)
    if (schema::is_on_request(event) && !filter.records(event) &&
        std::ranges::find(filter.layers, event.layer) != filter.layers.end())
      events.push_back(event.name);
  return events;
}

} // namespace iotrail::cli

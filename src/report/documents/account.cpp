// SPDX-License-Identifier: BSD-3-Clause
#include "report/documents/account.hpp"

#include <algorithm>

#include "report/sample.hpp"
#include "report/section.hpp"
#include "report/trace_facts.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kLayerColumns[] = {
    {.title = "layer", .name = "layer"},
    {.title = "events", .name = "events", .meaning = Meaning::count, .instead = "_missing"},
    {.title = "of all calls",
     .name = "_all",
     .meaning = Meaning::count,
     .omit = Omit::if_unknown,
     .is_sum = true},
    {.title = "", .name = "_missing"},
};
constexpr ColumnDefinition kTallyColumns[] = {
    {.title = "source", .name = "source"},
    {.title = "produced", .name = "produced", .meaning = Meaning::count},
    {.title = "written", .name = "written", .meaning = Meaning::count},
    {.title = "lost", .name = "lost", .meaning = Meaning::count},
    {.title = "in sums", .name = "summed_up", .meaning = Meaning::count, .omit = Omit::if_zero},
    {.title = "left out", .name = "left_out", .meaning = Meaning::count, .omit = Omit::if_zero},
};
constexpr ColumnDefinition kEventColumns[] = {
    {.title = "layer", .name = "layer", .suppress_repeats = true},
    {.title = "event", .name = "event"},
    {.title = "events", .name = "events", .meaning = Meaning::count},
};
constexpr ColumnDefinition kCounterColumns[] = {
    {.title = "counter", .name = "counter"},
    {.title = "severity", .name = "severity", .drop_priority = 1},
    {.title = "count", .name = "count", .meaning = Meaning::count},
    {.title = "meaning", .name = "meaning", .meaning = Meaning::sentence},
};
constexpr ColumnDefinition kHookColumns[] = {
    {.title = "event", .name = "event"},
    {.title = "", .name = "source"},
    {.title = "tier", .name = "tier", .omit = Omit::if_unknown},
    {.title = "hook", .name = "hook", .meaning = Meaning::command, .instead = "_missing"},
    {.title = "reason", .name = "reason", .meaning = Meaning::command},
    {.title = "", .name = "remedy"},
    {.title = "", .name = "_missing"},
};

std::uint64_t events_of_layer(const store::Manifest& manifest, const std::string& layer) {
  std::uint64_t events = 0;
  for (const auto& [event, rows] : manifest.counts)
    if (layer_of_event(event) == layer)
      events += rows;
  return events;
}

} // namespace

Section layers_table(const store::Manifest& manifest) {
  const Sample sample(manifest.sample_of);
  const std::vector<std::string> refused = manifest.layers_refused();
  std::vector<std::vector<Value>> rows;
  for (const std::string& layer : manifest.layers) {
    if (std::ranges::find(refused, layer) != refused.end()) {
      rows.push_back({layer, {}, {}, std::string("not recorded")});
      continue;
    }
    const std::uint64_t events = events_of_layer(manifest, layer);
    rows.push_back({layer, events, manifest.sample_of == 0 ? Value() : Value(events), {}});
  }
  Section section = make_table("layers", "Layers", kLayerColumns, std::move(rows));
  for (std::size_t row = 0; row < section.rows.size(); ++row)
    section.rows[row].scale_factor = sample.scale_factor(manifest.layers[row]);
  return section;
}

Section tallies_table(const store::Manifest& manifest) {
  std::vector<std::vector<Value>> rows;
  for (const store::SourceTally& tally : manifest.sources)
    rows.push_back(
        {tally.name, tally.produced, tally.written, tally.lost, tally.summed_up, tally.left_out});
  return make_table("sources", "Sources", kTallyColumns, std::move(rows));
}

Section events_table(const store::Manifest& manifest) {
  std::vector<std::vector<Value>> rows;
  for (const auto& [event, count] : manifest.counts)
    rows.push_back({std::string(layer_of_event(event)), event, count});
  return make_table("events", "Events", kEventColumns, std::move(rows));
}

Section counters_table(const store::Manifest& manifest) {
  std::vector<std::vector<Value>> rows;
  for (const auto& [name, count] : manifest.counters) {
    const schema::Counter* counter = schema::find_counter(name);
    if (counter == nullptr) // of another version
      rows.push_back({name, {}, count, {}});
    else
      rows.push_back({name, std::string(schema::severity_name(counter->severity)), count,
                      std::string(counter->doc)});
  }
  return make_table("counters", "Counters", kCounterColumns, std::move(rows));
}

Section hooks_table(const std::vector<store::HookReport>& hooks, bool with_reasons) {
  std::vector<std::vector<Value>> rows;
  for (const store::HookReport& hook : hooks)
    rows.push_back({hook.event, hook.source, hook.tier.empty() ? Value() : Value(hook.tier),
                    hook.hook, hook.reason, hook.remedy,
                    hook.hook.empty() ? Value(std::string("NONE")) : Value()});
  Section section = make_table("hooks", "Hooks", kHookColumns, std::move(rows));
  if (!with_reasons)
    std::erase_if(section.shown,
                  [&](std::size_t column) { return section.columns[column].name == "reason"; });
  return section;
}

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
#include "report/documents/doctor.hpp"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "report/documents/account.hpp"
#include "report/section.hpp"
#include "report/trace_facts.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kMachineColumns[] = {
    {.title = "", .name = "is_met"},
    {.title = "met", .name = "_met"},
    {.title = "needed", .name = "name"},
    {.title = "found", .name = "_found", .meaning = Meaning::sentence},
    {.title = "", .name = "detail"},
    {.title = "", .name = "remedy"},
};
constexpr ColumnDefinition kAllowedColumns[] = {
    {.title = "layer", .name = "layer"},
    {.title = "events", .name = "events", .meaning = Meaning::count},
    {.title = "allowed", .name = "allowed", .meaning = Meaning::count},
};
constexpr ColumnDefinition kSourceStateColumns[] = {
    {.title = "", .name = "source"},
    {.title = "", .name = "is_usable"},
    {.title = "", .name = "refusal"},
    {.title = "", .name = "remedy"},
};

struct LayerState {
  std::string_view layer;
  std::uint64_t events = 0;
  std::uint64_t allowed = 0;
};

// In the order of the schema.
std::vector<LayerState> layer_states(std::span<const SourceDiagnosis> sources) {
  std::vector<LayerState> layers;
  for (const schema::LayerInfo& row : schema::kLayers) {
    LayerState state{schema::layer_name(static_cast<std::uint32_t>(row.layer))};
    for (const SourceDiagnosis& source : sources)
      for (const store::HookReport& hook : source.hooks)
        if (layer_of_event(hook.event) == state.layer) {
          ++state.events;
          state.allowed += hook.hook.empty() ? 0 : 1;
        }
    if (state.events != 0)
      layers.push_back(state);
  }
  return layers;
}

Sentence allowed_sentence(const std::vector<LayerState>& layers) {
  std::uint64_t events = 0;
  std::uint64_t allowed = 0;
  for (const LayerState& layer : layers) {
    events += layer.events;
    allowed += layer.allowed;
  }
  return sentence(allowed == events
                      ? "iotrail can record all {events} events on this machine"
                      : "iotrail can record {allowed} of {events} events on this machine",
                  {count_value("allowed", allowed), count_value("events", events)});
}

// "; without layers vfs, cache and parts of fs"
void add_missing(const std::vector<LayerState>& layers, Sentence& title) {
  std::vector<std::string_view> none;
  std::vector<std::string_view> some;
  for (const LayerState& layer : layers)
    if (layer.allowed != layer.events)
      (layer.allowed == 0 ? none : some).push_back(layer.layer);
  if (!none.empty())
    title.add(fmt::format("; without layer{} {{none}}", none.size() == 1 ? "" : "s"),
              {text_value("none", fmt::format("{}", fmt::join(none, ", ")))});
  if (!some.empty())
    title.add(none.empty() ? "; without parts of {some}" : " and parts of {some}",
              {text_value("some", fmt::format("{}", fmt::join(some, ", ")))});
}

// "cache 7 of 9, fs 9 of 10"
Sentence parts_sentence(const std::vector<LayerState>& layers) {
  Sentence text;
  for (const LayerState& layer : layers)
    if (layer.allowed != 0 && layer.allowed != layer.events)
      text.add(text.empty() ? "{layer} {allowed} of {events}" : ", {layer} {allowed} of {events}",
               {text_value("layer", std::string(layer.layer)),
                count_value("allowed", layer.allowed), count_value("events", layer.events)});
  return text;
}

template <class Condition>
Sentence names_of(const std::vector<LayerState>& layers, const Condition& condition) {
  std::vector<std::string_view> names;
  for (const LayerState& layer : layers)
    if (condition(layer))
      names.push_back(layer.layer);
  return names.empty() ? Sentence{}
                       : only(text_value("layers", fmt::format("{}", fmt::join(names, ", "))));
}

void add_layer_facts(const std::vector<LayerState>& layers, Document& document) {
  const auto add = [&](std::string name, Sentence value) {
    if (!value.empty())
      document.facts.push_back({std::move(name), std::move(value)});
  };
  add("wholly",
      names_of(layers, [](const LayerState& layer) { return layer.allowed == layer.events; }));
  add("in part", parts_sentence(layers));
  add("not", names_of(layers, [](const LayerState& layer) { return layer.allowed == 0; }));
}

// A reason without the names of the hooks that were tried: "HOOK: cause; OTHER HOOK: cause".
std::vector<std::string> causes_of(std::string_view reason) {
  std::vector<std::string> causes;
  while (!reason.empty()) {
    const std::size_t end = std::min(reason.find("; "), reason.size());
    std::string_view cause = reason.substr(0, end);
    if (const std::size_t colon = cause.find(": "); colon != cause.npos)
      cause.remove_prefix(colon + 2);
    if (std::ranges::find(causes, cause) == causes.end())
      causes.emplace_back(cause);
    reason.remove_prefix(std::min(end + 2, reason.size()));
  }
  return causes;
}

// An error's hint may have several lines.
std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text)
    if (c != '\n' && !(c == ' ' && line.ends_with(' ')))
      line += c;
    else if (!line.ends_with(' '))
      line += ' ';
  return line;
}

// The remedies that were said: most features of a machine have the same.
class Remedies {
public:
  // On one line; empty: it was said, or there is none.
  std::string take(std::string_view remedy) {
    std::string line = on_one_line(remedy);
    return line.empty() || !said_.insert(line).second ? std::string() : line;
  }

private:
  std::set<std::string> said_;
};

struct Refused {
  std::string remedy; // "": none is known
  std::vector<std::string> causes;
  std::vector<const store::HookReport*> hooks;
};

void add_refused(const store::HookReport& hook, std::vector<Refused>& all) {
  const std::vector<std::string> causes = causes_of(hook.reason);
  auto refused = std::ranges::find_if(all, [&](const Refused& other) {
    return other.remedy == hook.remedy && (!hook.remedy.empty() || other.causes == causes);
  });
  if (refused == all.end())
    refused = all.insert(all.end(), Refused{hook.remedy, {}, {}});
  for (const std::string& cause : causes)
    if (std::ranges::find(refused->causes, cause) == refused->causes.end())
      refused->causes.push_back(cause);
  refused->hooks.push_back(&hook);
}

// Events that would come back by the same remedy; without one, those that are refused for the same
// cause. A source that cannot be used at all has one reason.
std::vector<Refused> refused_events(std::span<const SourceDiagnosis> sources) {
  std::vector<Refused> all;
  for (const SourceDiagnosis& source : sources) {
    if (!source.refusal.empty()) {
      all.push_back({source.remedy, {source.refusal}, {}});
      for (const store::HookReport& hook : source.hooks)
        all.back().hooks.push_back(&hook);
      continue;
    }
    for (const store::HookReport& hook : source.hooks)
      if (hook.hook.empty())
        add_refused(hook, all);
  }
  return all;
}

// "layer vfs; cache_hit, cache_refault"
std::string names_of_refused(const std::vector<const store::HookReport*>& hooks,
                             const std::vector<LayerState>& layers) {
  std::vector<std::string_view> whole_layers;
  std::vector<std::string_view> events;
  for (const store::HookReport* hook : hooks) {
    const std::string_view layer = layer_of_event(hook->event);
    const auto of_layer = std::ranges::count_if(hooks, [&](const store::HookReport* other) {
      return layer_of_event(other->event) == layer;
    });
    const auto state = std::ranges::find(layers, layer, &LayerState::layer);
    if (state == layers.end() || state->events != static_cast<std::uint64_t>(of_layer))
      events.emplace_back(hook->event);
    else if (std::ranges::find(whole_layers, layer) == whole_layers.end())
      whole_layers.push_back(layer);
  }
  std::string names;
  if (!whole_layers.empty())
    names = fmt::format("layer{} {}", whole_layers.size() == 1 ? "" : "s",
                        fmt::join(whole_layers, ", "));
  return fmt::format("{}{}{}", names, names.empty() || events.empty() ? "" : "; ",
                     fmt::join(events, ", "));
}

Section refused_section(std::span<const SourceDiagnosis> sources,
                        const std::vector<LayerState>& layers, Remedies& remedies) {
  Section section{.id = "refused"};
  for (const Refused& refused : refused_events(sources)) {
    // Of one event, the names of the hooks that were tried say more.
    const std::string causes = refused.hooks.size() == 1
                                   ? refused.hooks.front()->reason
                                   : fmt::format("{}", fmt::join(refused.causes, "; "));
    section.facts.push_back(
        {"events", only(text_value("events", names_of_refused(refused.hooks, layers)))});
    section.facts.push_back({"why", only(text_value("cause", on_one_line(causes)))});
    if (std::string remedy = remedies.take(refused.remedy); !remedy.empty())
      section.facts.push_back({"remedy", only(text_value("remedy", std::move(remedy)))});
  }
  if (!section.facts.empty())
    section.title = sentence("Not recorded here, and why");
  return section;
}

Section allowed_section(const std::vector<LayerState>& layers) {
  std::vector<std::vector<Value>> rows;
  for (const LayerState& layer : layers)
    rows.push_back({std::string(layer.layer), layer.events, layer.allowed});
  return make_table("layers", "Layers", kAllowedColumns, std::move(rows));
}

// `with_met`: also what is there already, and needs no attention.
Section machine_section(std::span<const capture::KernelFact> facts, bool with_met,
                        Remedies& remedies) {
  std::vector<std::vector<Value>> rows;
  for (const capture::KernelFact& fact : facts) {
    if (fact.is_met && !with_met)
      continue;
    const std::string remedy = fact.is_met ? std::string() : remedies.take(fact.remedy);
    rows.push_back({fact.is_met, std::string(fact.is_met ? "yes" : "NO"), fact.name,
                    remedy.empty() ? fact.detail : fmt::format("{}: {}", fact.detail, remedy),
                    fact.detail, fact.remedy});
  }
  if (rows.empty())
    return {.id = "machine"};
  Section section = make_table("machine", with_met ? "This machine" : "This machine lacks",
                               kMachineColumns, std::move(rows));
  if (!with_met) // all have the same answer
    std::erase_if(section.shown,
                  [&](std::size_t column) { return section.columns[column].name == "_met"; });
  return section;
}

// Has a table of hooks for each source.
Section sources_section_of(std::span<const SourceDiagnosis> sources, bool with_reasons) {
  std::vector<std::vector<Value>> rows;
  for (const SourceDiagnosis& source : sources)
    rows.push_back({source.source, source.refusal.empty(), source.refusal, source.remedy});
  Section section = make_table("sources", "", kSourceStateColumns, std::move(rows));
  for (const SourceDiagnosis& source : sources) {
    section.children.push_back(hooks_table(source.hooks, with_reasons));
    section.children.back().title =
        sentence(source.refusal.empty() ? "Source {source}" : "Source {source}: cannot be used",
                 {text_value("source", source.source)});
  }
  return section;
}

} // namespace

Document make_doctor(std::span<const capture::KernelFact> facts,
                     std::span<const SourceDiagnosis> sources, DoctorDetail detail) {
  const std::vector<LayerState> layers = layer_states(sources);
  const bool is_full = detail != DoctorDetail::answer;
  Document document{.title = allowed_sentence(layers), .all_columns = "--wide"};
  add_missing(layers, document.title);
  add_layer_facts(layers, document);
  if (is_full)
    document.sections = {allowed_section(layers),
                         sources_section_of(sources, detail == DoctorDetail::reasons)};
  Remedies remedies;
  document.sections.push_back(refused_section(sources, layers, remedies));
  document.sections.push_back(machine_section(facts, is_full, remedies));
  if (!is_full)
    document.closing.push_back(
        sentence("`iotrail doctor --full` lists each event, and the hook that serves it."));
  return document;
}

} // namespace iotrail::output

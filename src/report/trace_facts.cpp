// SPDX-License-Identifier: BSD-3-Clause
#include "report/trace_facts.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/ranges.h>

#include "capture/request/request.hpp"
#include "report/warnings.hpp"
#include "schema.hpp"
#include "store/format/recorder_tags.hpp"

namespace iotrail::output {

namespace {

std::uint64_t last_event_ns(const store::TraceReader& trace) {
  std::uint64_t last_ns = 0;
  for (const store::BlockInfo& block : trace.blocks())
    if (const store::TableInfo* table = trace.table(block.kind); table && !table->is_dictionary())
      last_ns = std::max(last_ns, block.last_ns);
  return last_ns;
}

// Without an end in the manifest, the recording ran at least until the last event.
Sentence run_sentence(const store::TraceReader& trace) {
  const store::Manifest& manifest = trace.manifest();
  if (manifest.begin_ns == 0)
    return {};
  if (manifest.end_ns >= manifest.begin_ns)
    return only(ns_value("duration_ns", manifest.end_ns - manifest.begin_ns));
  const std::uint64_t last_ns = last_event_ns(trace);
  return last_ns <= manifest.begin_ns
             ? Sentence{}
             : sentence("last event after {last_event_ns}",
                        {ns_value("last_event_ns", last_ns - manifest.begin_ns)});
}

Sentence state_sentence(const store::TraceReader& trace) {
  const store::Manifest& manifest = trace.manifest();
  if (trace.damage().manifest)
    return sentence(kNotKnown);
  Sentence text = run_sentence(trace);
  text.add(text.empty() ? "{state}" : ", {state}",
           {text_value("state", std::string(store::state_name(manifest.state)))});
  if (!manifest.stop_reason.empty())
    text.add(": {stop_reason}", {text_value("stop_reason", manifest.stop_reason)});
  if (manifest.command_status >= 0 && !manifest.command.empty())
    text.add(" with status {status}",
             {{"status", std::int64_t{manifest.command_status}, Meaning::status}});
  if (manifest.command_user_ns != 0 || manifest.command_system_ns != 0)
    text.add("; CPU time of it and its children: {user_ns} in programs, {system_ns} in the kernel",
             {ns_value("user_ns", manifest.command_user_ns),
              ns_value("system_ns", manifest.command_system_ns)});
  return text;
}

// `losses`: the title of the section that lists them.
Sentence events_sentence(const store::TraceReader& trace, std::string_view losses) {
  const store::Manifest& manifest = trace.manifest();
  if (manifest.sources.empty())
    return {};
  if (Sentence lost = lost_sentence(manifest); !lost.empty())
    return lost.add(": see ").add(losses);
  std::uint64_t produced = 0;
  for (const store::SourceTally& source : manifest.sources)
    produced += source.produced;
  Sentence text = only(count_value("produced", produced));
  if (manifest.gaps() != 0)
    return text.add(", SOME MAY BE MISSING: see ").add(losses);
  return text.add(trace.damage().any() ? ", none lost while recording" : ", none lost");
}

Sentence begin_sentence(const store::TraceReader& trace) {
  const store::Manifest& manifest = trace.manifest();
  if (manifest.begin_ns == 0 || trace.damage().manifest)
    return {};
  return only({"begin_real_ns", manifest.begin_real_ns(), Meaning::date});
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

class Facts {
public:
  void add(std::string name, Sentence value) {
    if (!value.empty())
      facts_.push_back({std::move(name), std::move(value)});
  }
  void add(std::string name, std::string text, Meaning meaning = Meaning::text) {
    if (!text.empty())
      add(name, only({name.empty() ? "more" : name, std::move(text), meaning}));
  }
  std::vector<Fact> take() { return std::move(facts_); }

private:
  std::vector<Fact> facts_;
};

// False for a trace without a request, and if a later version asked for things unknown here.
bool includes_files(const store::Manifest& manifest) {
  const auto request = capture::request_from_json(manifest.request.json);
  return request && request->filter.wanted.choose_files();
}

} // namespace

Sentence recorder_sentence(const store::Manifest& manifest) {
  if (manifest.recorder_cpu_ns == 0)
    return {};
  return sentence("{recorder_cpu_ns} of CPU, {recorder_memory_bytes} of memory and "
                  "{ring_memory_bytes} of rings; trace of {events_bytes}",
                  {ns_value("recorder_cpu_ns", manifest.recorder_cpu_ns),
                   bytes_value("recorder_memory_bytes", manifest.recorder_memory_bytes),
                   bytes_value("ring_memory_bytes", manifest.ring_memory_bytes),
                   bytes_value("events_bytes", manifest.events_bytes)});
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

std::string_view layer_of_event(std::string_view event) {
  const schema::Event* row = schema::find_event(event);
  return row == nullptr ? "" : schema::layer_name(static_cast<std::uint32_t>(row->layer));
}

std::vector<std::string> layers_refused_by_machine(const store::Manifest& manifest) {
  std::vector<std::string> layers = manifest.layers_refused();
  std::erase_if(layers, [&](const std::string& layer) {
    return std::ranges::none_of(manifest.hooks, [&](const store::HookReport& hook) {
      return layer_of_event(hook.event) == layer && hook.remedy != store::kAskForOther;
    });
  });
  return layers;
}

std::string tags_text(const store::Manifest& manifest) {
  std::string tags;
  for (const auto& [name, value] : store::user_tags(manifest.tags))
    tags += fmt::format("{}{}={}", tags.empty() ? "" : " ", name, value);
  return tags;
}

std::string refusals_text(const store::Manifest& manifest) {
  const std::vector<std::string> layers = manifest.layers_refused();
  std::vector<std::string> by_machine;
  std::vector<std::string> by_choice;
  std::set<std::string> named;
  for (const store::HookReport& hook : manifest.hooks) {
    if (!hook.hook.empty())
      continue;
    const std::string_view layer = layer_of_event(hook.event);
    const bool is_whole_layer = std::ranges::find(layers, layer) != layers.end();
    std::string what = is_whole_layer ? fmt::format("layer {}", layer) : hook.event;
    if (named.insert(what).second)
      (hook.remedy == store::kAskForOther ? by_choice : by_machine).push_back(std::move(what));
  }
  if (includes_files(manifest) &&
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

std::string unsupported_file_systems_text(const store::Manifest& manifest) {
  const std::string layer(schema::layer_name(IOT_LAYER_fs));
  const std::vector<std::string> refused = manifest.layers_refused();
  if (manifest.unsupported_file_systems.empty() ||
      std::ranges::find(manifest.layers, layer) == manifest.layers.end() ||
      std::ranges::find(refused, layer) != refused.end())
    return {};
  return fmt::format("no events of the layer {} from {}: seen at the other layers only", layer,
                     fmt::join(manifest.unsupported_file_systems, ", "));
}

std::vector<Fact> trace_facts(const store::TraceReader& trace, std::string_view selection,
                              std::string_view losses) {
  const store::Manifest& manifest = trace.manifest();
  Facts facts;
  facts.add("command", joined(manifest.command, " "), Meaning::command);
  facts.add("run", state_sentence(trace));
  facts.add("layers", layers_text(manifest));
  facts.add("", unsupported_file_systems_text(manifest));
  facts.add("running", joined(manifest.still_running, ", "));
  facts.add("unseen", joined(manifest.not_followed, "; "));
  facts.add("filters", joined(manifest.filters, "; "));
  facts.add("limits", joined(manifest.limits, "; "));
  facts.add("events", events_sentence(trace, losses));
  facts.add("only", std::string(selection));
  return facts.take();
}

std::vector<Fact> recording_facts(const store::TraceReader& trace) {
  Facts facts;
  facts.add("begin", begin_sentence(trace));
  facts.add("machine", machine_text(trace.manifest()));
  facts.add("recorder", recorder_sentence(trace.manifest()));
  return facts.take();
}

} // namespace iotrail::output

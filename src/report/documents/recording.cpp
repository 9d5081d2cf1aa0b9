// SPDX-License-Identifier: BSD-3-Clause
#include "report/documents/recording.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/ranges.h>

#include "report/documents/account.hpp"
#include "report/trace_facts.hpp"
#include "report/warnings.hpp"

namespace iotrail::output {

namespace {

// Without events of refused layers, which a sentence of their own names.
std::string left_out_text(const store::Manifest& manifest, std::vector<std::string_view> events) {
  const std::vector<std::string> refused = manifest.layers_refused();
  std::erase_if(events, [&](std::string_view event) {
    return std::ranges::find(refused, layer_of_event(event)) != refused.end();
  });
  return fmt::format("{}", fmt::join(events, ", "));
}

// "iotrail: command ended with status 1 after 46.5 ms"
Sentence end_sentence(const store::Manifest& manifest) {
  Sentence text =
      sentence("iotrail: {stop_reason}", {text_value("stop_reason", manifest.stop_reason)});
  if (manifest.command_status > 0)
    text.add(" with status {status}",
             {{"status", std::int64_t{manifest.command_status}, Meaning::status}});
  return text.add(" after {duration_ns}",
                  {ns_value("duration_ns", manifest.end_ns - manifest.begin_ns)});
}

// "626 events, 11.8 KiB, none lost"
Sentence recorded_sentence(const store::Manifest& manifest, std::string_view thing) {
  const std::uint64_t events = manifest.events();
  Sentence text =
      sentence(fmt::format("{{events}} {}{}, {{events_bytes}}, ", thing, events == 1 ? "" : "s"),
               {count_value("events", events), bytes_value("events_bytes", manifest.events_bytes)});
  if (const Sentence lost = lost_sentence(manifest); !lost.empty())
    return text.add(lost.pattern, lost.values);
  return text.add(manifest.gaps() == 0 ? "none lost" : "SOME MAY BE MISSING");
}

// What answers from the trace will lack besides.
void add_limits(const store::Manifest& manifest, Sentence& recorded) {
  if (manifest.sample_of != 0)
    recorded.add("; a sample: 1 call in {sample_of}",
                 {count_value("sample_of", manifest.sample_of)});
  if (const std::uint64_t left_out = manifest.left_out(); left_out != 0)
    recorded.add("; {left_out} left out, of smaller operations",
                 {count_value("left_out", left_out)});
  std::string layers = fmt::format("{}", fmt::join(layers_refused_by_machine(manifest), ", "));
  if (!layers.empty())
    recorded.add("; not layer {layers}: `iotrail doctor`",
                 {text_value("layers", std::move(layers))});
}

Sentence devices_sentence(const trail::CompletedBytes& bytes) {
  if (bytes.all == 0)
    return {};
  return sentence("completed {completed}: {attributed_share} with a cause, {exact_share} exact",
                  {bytes_value("completed", bytes.all),
                   share_value("attributed_share", share_of(bytes.attributed, bytes.all)),
                   share_value("exact_share", share_of(bytes.exact, bytes.all))});
}

void add_fact(Document& document, std::string name, Sentence value) {
  if (!value.empty())
    document.facts.push_back({std::move(name), std::move(value)});
}

void add_warning(Document& document, std::string_view pattern, std::string text) {
  if (!text.empty())
    document.warnings.push_back(sentence(pattern, {text_value("text", std::move(text))}));
}

void add_everything(const store::Manifest& manifest, const RecordingSummary& summary,
                    Document& document) {
  if (summary.devices)
    add_fact(document, "devices", devices_sentence(*summary.devices));
  add_fact(document, "recorder", recorder_sentence(manifest));
  document.warnings = choice_sentences(manifest);
  add_warning(document, "{text}", refusals_text(manifest));
  add_warning(document, "{text}", unsupported_file_systems_text(manifest));
  add_warning(document, "left out, since --events did not ask: {text}",
              left_out_text(manifest, summary.left_out));
  document.sections = {layers_table(manifest), tallies_table(manifest), counters_table(manifest)};
  document.closing.push_back(command_on(summary.next, summary.trace));
}

} // namespace

Document make_recording_summary(const store::Manifest& manifest, const RecordingSummary& summary) {
  Document document{.trace = summary.trace.native(), .title = end_sentence(manifest)};
  Sentence recorded = recorded_sentence(manifest, summary.is_snapshot ? "row" : "event");
  if (!summary.is_full)
    add_limits(manifest, recorded);
  add_fact(document, "recorded", std::move(recorded));
  for (Sentence& gap : gap_sentences(manifest))
    add_fact(document, "", std::move(gap));
  add_fact(document, "running", running_sentence(manifest));
  if (summary.is_full)
    add_everything(manifest, summary, document);
  else
    add_fact(document, "next", command_on(summary.next, summary.trace));
  if (summary.is_snapshot)
    document.sections = {events_table(manifest), counters_table(manifest)};
  return document;
}

std::vector<Sentence> recording_warnings(const store::Manifest& manifest) {
  std::vector<Sentence> warnings;
  if (manifest.state == store::State::ERROR)
    warnings.push_back(only(text_value("stop_reason", manifest.stop_reason)));
  if (const Sentence running = running_sentence(manifest); !running.empty())
    warnings.push_back(sentence("still running: ").add(running.pattern, running.values));
  if (Sentence lost = lost_sentence(manifest); !lost.empty())
    warnings.push_back(std::move(lost));
  std::ranges::move(gap_sentences(manifest), std::back_inserter(warnings));
  return warnings;
}

} // namespace iotrail::output

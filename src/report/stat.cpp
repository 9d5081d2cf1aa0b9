// SPDX-License-Identifier: BSD-3-Clause
#include "report/stat.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/ranges.h>

#include "report/sections.hpp"
#include "report/trace_facts.hpp"
#include "report/warnings.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

constexpr std::uint64_t kRowsOfOneStatTable = 20;

std::uint64_t counted(const store::Manifest& manifest, const schema::Counter& counter) {
  const auto found = manifest.counters.find(std::string(counter.name));
  return found == manifest.counters.end() ? 0 : found->second;
}

std::uint64_t counted(const store::Manifest& manifest, iot_counter counter) {
  return counted(manifest, *schema::find_counter(counter));
}

// Sources are counted when a recording ends.
Sentence account(const store::Manifest& manifest) {
  std::string command = fmt::format("{}", fmt::join(manifest.command, " "));
  Sentence text =
      sentence("{command}: ", {{"command", command.empty() ? "stat" : command, Meaning::command}});
  if (manifest.sources.empty())
    return text.add("how many events were added up, and how many lost, is not known");
  text.add("{summed_up} events added up in {duration_ns}, ",
           {count_value("summed_up", manifest.summed_up()),
            ns_value("duration_ns", manifest.end_ns - manifest.begin_ns)});
  if (Sentence lost = lost_sentence(manifest); !lost.empty())
    return text.add(lost.pattern, std::move(lost.values));
  return text.add(manifest.gaps() == 0 ? "none lost" : "SOME MAY BE MISSING");
}

Section summary_section(const store::TraceReader& trace) {
  const store::Manifest& manifest = trace.manifest();
  Section section{.id = "summary", .notes = {account(manifest)}};
  for (const schema::Counter& counter : schema::kCounters)
    if (const std::uint64_t lost = counted(manifest, counter);
        lost != 0 && counter.severity == schema::Severity::loss)
      section.notes.push_back(sentence(fmt::format("{{lost}} {}: {}", counter.name, counter.doc),
                                       {count_value("lost", lost)}));
  if (const std::uint64_t left_out = counted(manifest, IOT_COUNTER_kernel_pseudo_left_out))
    section.notes.push_back(
        sentence(fmt::format("{{left_out}} operation{} on pseudo file systems (/proc, /sys and "
                             "the like) left out: --pseudo records them",
                             left_out == 1 ? "" : "s"),
                 {count_value("left_out", left_out)}));
  if (const std::uint64_t others = counted(manifest, IOT_COUNTER_kernel_sum_others); others != 0)
    section.notes.push_back(
        sentence("{others} events found no row in the table of sums: they are in their "
                 "operations, but in no file, process or device; see --rows",
                 {count_value("others", others)}));
  if (manifest.state == store::State::ERROR)
    section.notes.push_back(only(text_value("stop_reason", manifest.stop_reason)));
  if (Sentence running = running_sentence(manifest); !running.empty())
    section.notes.push_back(sentence("still running: ").add(running.pattern, running.values));
  std::ranges::move(gap_sentences(manifest), std::back_inserter(section.notes));
  std::ranges::move(warning_sentences(trace), std::back_inserter(section.notes));
  if (std::string refusals = refusals_text(manifest); !refusals.empty())
    section.notes.push_back(only(text_value("not_recorded", std::move(refusals))));
  return section;
}

} // namespace

Result<void> check_stat_table(const std::string& by) {
  if (by.empty() || section_by(by, &Ranks::stat) != nullptr)
    return {};
  return fail_usage(fmt::format("--by: there is no table by '{}'", by),
                    "the tables are by operation, file, process and device");
}

Result<Document> make_stat(analysis::Engine& engine, const StatOptions& options) {
  Document document;
  const SectionOptions rows{.rows = options.rows == 0 && !options.by.empty() ? kRowsOfOneStatTable
                                                                             : options.rows};
  for (const SectionDefinition& definition : sections_of(&Ranks::stat)) {
    if (!options.by.empty() && definition.subject != options.by)
      continue;
    Section section = make_section(engine, definition, rows);
    if (section.failure)
      return std::unexpected(*section.failure);
    add_notes(engine.trace(), definition, section);
    document.sections.push_back(std::move(section));
  }
  // Damage comes first in the document, but is known only when everything is read.
  document.sections.insert(document.sections.begin(), summary_section(engine.trace()));
  document.trace = engine.trace().path().native();
  return document;
}

} // namespace iotrail::output

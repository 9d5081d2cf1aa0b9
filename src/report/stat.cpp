// SPDX-License-Identifier: BSD-3-Clause
#include "report/stat.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

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

const Section* section_with_rows(const std::vector<Section>& sections, std::string_view id) {
  const auto found = std::ranges::find(sections, id, &Section::id);
  return found == sections.end() || found->rows.empty() ? nullptr : &*found;
}

// The row with most time of the uppermost layer, without waits for other programs; nullopt: none.
std::optional<std::size_t> main_operation(const SectionRows& rows) {
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (rows.text(row, "layer") == rows.text(0, "layer") && rows.number(row, "total_ns") > 0 &&
        !schema::has_trait(rows.text(row, "operation"), schema::Trait::waits_for_others))
      return row;
  return std::nullopt;
}

// "Most time: read, 10.5 ms in 1,000 calls, most on /x.db; devices read 0 B, wrote 200 KiB"
Sentence answer_of(const std::vector<Section>& sections) {
  Sentence answer;
  if (const Section* operations = section_with_rows(sections, "operations")) {
    const SectionRows rows(*operations);
    if (const auto row = main_operation(rows))
      answer = sentence("Most time: {operation}, {total_ns} in {count} calls",
                        {text_value("operation", rows.text(*row, "operation")),
                         ns_value("total_ns", rows.number(*row, "total_ns")),
                         count_value("count", rows.number(*row, "operations"))});
  }
  if (const Section* files = section_with_rows(sections, "files"); files && !answer.empty())
    answer.add("; of files, {path} took most",
               {{"path", SectionRows(*files).text(0, "_name"), Meaning::path}});
  if (const Section* devices = section_with_rows(sections, "devices"); devices && !answer.empty()) {
    const SectionRows rows(*devices);
    std::uint64_t read = 0;
    std::uint64_t written = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      read += rows.number(row, "bytes_read");
      written += rows.number(row, "bytes_written");
    }
    answer.add("; devices read {read}, wrote {written}",
               {bytes_value("read", read), bytes_value("written", written)});
  }
  return answer;
}

} // namespace

Result<void> check_stat_table(const std::string& by) {
  if (by.empty() || section_by(by, &Ranks::stat) != nullptr)
    return {};
  return no_section_by(by);
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
  if (engine.trace().manifest().sample_of == 0) // else the numbers of the tables are estimates
    document.title = answer_of(document.sections);
  // Damage comes first in the document, but is known only when everything is read.
  document.sections.insert(document.sections.begin(), summary_section(engine.trace()));
  document.trace = engine.trace().path().native();
  return document;
}

} // namespace iotrail::output

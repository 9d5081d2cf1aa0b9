// SPDX-License-Identifier: BSD-3-Clause
//
// Events that are missing, or may be: for each source, then for each counter.
#include <algorithm>

#include <fmt/format.h>

#include "report/section.hpp"
#include "report/sections.hpp"
#include "report/warnings.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kLossColumns[] = {
    {.title = "counter", .name = "_counter"},
    {.title = "severity", .name = "severity", .drop_priority = 2},
    {.title = "count", .name = "events", .meaning = Meaning::count},
    {.title = "when", .name = "_when", .drop_priority = 1},
    {.title = "meaning", .name = "doc", .meaning = Meaning::sentence},
};
constexpr std::string_view kLossesSql = R"(
SELECT l.*, CASE l.event WHEN '0' THEN l.counter ELSE l.counter || ' of ' || l.event END AS _counter,
       CASE WHEN l.from_ns IS NULL THEN ''
            ELSE format('{:.3f} to {:.3f} s', CASE WHEN l.from_ns > b.begin_ns THEN (l.from_ns - b.begin_ns) / 1e9 ELSE 0e0 END,
                        CASE WHEN l.to_ns > b.begin_ns THEN (l.to_ns - b.begin_ns) / 1e9 ELSE 0e0 END) END AS _when
FROM loss_totals AS l
  CROSS JOIN (SELECT coalesce(max(CAST(value AS UBIGINT)), 0) AS begin_ns FROM manifest WHERE "key" = 'begin_ns') AS b)";

bool is_gap(const SectionRows& rows, std::size_t row) {
  return rows.text(row, "severity") == schema::severity_name(schema::Severity::gap);
}

// The number of events in a gap is unknown, so the counted events are never called all.
bool has_gaps(const SectionRows& rows, std::string_view source) {
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (is_gap(rows, row) && rows.text(row, "source") == source)
      return true;
  return false;
}

Sentence tally(const store::SourceTally& source, bool has_gaps) {
  Sentence text = sentence("{source}: ", {text_value("source", source.name)});
  const NamedValue produced = count_value("produced", source.produced);
  const NamedValue written = count_value("written", source.written);
  const NamedValue lost = count_value("lost", source.lost);
  if (!adds_up(source))
    return text.add(
        "{produced} produced, {written} written, {lost} lost: THESE NUMBERS DO NOT ADD UP",
        {produced, written, lost});
  if (source.lost == 0)
    return text.add(fmt::format("none lost while recording{}, {{produced}} events produced == "
                                "{{written}} written",
                                has_gaps ? ", of those that were counted" : ""),
                    {produced, written});
  return text.add(
      "{lost} OF {produced} EVENTS LOST ({lost_share}), {written} written",
      {lost, produced, share_value("lost_share", share_of(source.lost, source.produced)), written});
}

void add_account(const SectionRows& rows, const store::TraceReader& trace, Section& section) {
  for (const store::SourceTally& source : trace.manifest().sources)
    section.intro.push_back(tally(source, has_gaps(rows, source.name)));
  std::ranges::move(gap_sentences(rows), std::back_inserter(section.intro));
}

} // namespace

std::vector<Sentence> gap_sentences(const SectionRows& rows) {
  std::vector<Sentence> sentences;
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (const std::uint64_t times = rows.number(row, "events"); is_gap(rows, row))
      sentences.push_back(gap_sentence(times, rows.text(row, "counter"), rows.text(row, "doc")));
  return sentences;
}

SectionDefinition losses_section() {
  return {.id = "losses",
          .title = "Losses",
          .view = "loss_totals",
          .sql = kLossesSql,
          .order = "CASE severity WHEN 'loss' THEN 1 WHEN 'gap' THEN 2 ELSE 3 END, severity, "
                   "events DESC, counter, event",
          .columns = kLossColumns,
          .add_notes = add_account,
          .notes_without_rows = true};
}

} // namespace iotrail::output

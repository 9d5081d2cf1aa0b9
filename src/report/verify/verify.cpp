// SPDX-License-Identifier: BSD-3-Clause
#include "report/verify/verify.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include <fmt/format.h>

#include "report/coverage.hpp"
#include "report/sections.hpp"
#include "report/small_result.hpp"
#include "report/warnings.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

// A contradiction: a sentence, and a query for its values. Each row is a defect.
struct Check {
  std::string_view pattern;
  std::string_view sql;
};
constexpr Check kChecks[] = {
    {"{source}: {produced} produced, but {written} written and {lost} lost", R"(
SELECT source, produced, written, lost FROM sources
WHERE CAST(produced AS HUGEINT) <> CAST(written AS HUGEINT) + lost)"},
    {"{device} {direction}: {differs} B of {completed} completed are in no link, or in several", R"(
SELECT coalesce(device_name, 'device ' || device) AS device, direction, abs(differs) AS differs, completed
FROM conservation WHERE differs <> 0)"},
    {"from the calls to the devices, {direction}: the parts make {parts} B, the devices completed "
     "{completed}",
     R"(
SELECT direction, sum(bytes) AS parts, any_value(completed) AS completed
FROM byte_balance
  JOIN (SELECT direction AS way, sum(completed) AS completed FROM conservation GROUP BY direction) AS c ON direction = way
GROUP BY direction HAVING sum(bytes) <> any_value(completed))"},
    {"{device} {direction}: {absent} of {counted} {unit} that the disk counted are not in the "
     "trace, which should have all",
     R"(
SELECT device_name AS device, direction, absent, counted, unit
FROM disk_balance WHERE is_defect = 1 AND surplus = 0 ORDER BY device_name, direction)"},
    {"{device} {direction}: the trace has {surplus} {unit} more than the disk counted", R"(
SELECT device_name AS device, direction, surplus, unit
FROM disk_balance WHERE is_defect = 1 AND surplus > 0 ORDER BY device_name, direction)"},
    {"{amount} of {of_all} B that calls wrote and synced, most of {path}, are in no request of the "
     "trace; {disks} counted writes that are not in it",
     R"(
SELECT amount, of_all, coalesce(path, '(no known file)') AS path, disks FROM unseen_io WHERE kind = 'synced data')"},
    {"{amount} of {of_all} calls that waited for a commit of a journal have no write of a disk in "
     "the trace; {disks} counted writes that are not in it",
     R"(
SELECT amount, of_all, disks FROM unseen_io WHERE kind = 'journal commits')"}};

// No contradiction: a disk that recorded tasks used served others, too, or did work that iotrail
// did not follow. unseen_io has what is certain.
constexpr Check kAbsent = {
    "{device} {direction}: {absent} of {counted} {unit} that the disk counted are not in the "
    "trace",
    R"(
SELECT device_name AS device, direction, absent, counted, unit
FROM disk_balance
WHERE recorded = 'followed' AND absent > 0 AND device_name IN (SELECT device_name FROM disk_balance WHERE in_trace > 0)
ORDER BY device_name, direction)"};

// The row's values by column name: texts, and numbers of events or bytes.
Sentence sentence_of(const Check& check, const SmallResult& rows, std::size_t row) {
  Sentence defect = sentence(check.pattern);
  for (const std::string& name : rows.columns()) {
    const Value& value = rows.value(row, name);
    const bool is_text =
        std::holds_alternative<std::string>(value) || std::holds_alternative<JsonText>(value);
    defect.values.push_back({name, value, is_text ? Meaning::text : Meaning::count});
  }
  return defect;
}

Result<std::vector<Sentence>> run_checks(analysis::Engine& engine, std::span<const Check> checks) {
  std::vector<Sentence> sentences;
  for (const Check& check : checks) {
    const auto rows = SmallResult::query(engine, check.sql);
    if (!rows)
      return std::unexpected(rows.error());
    for (std::size_t row = 0; row < rows->size(); ++row)
      sentences.push_back(sentence_of(check, *rows, row));
  }
  return sentences;
}

// Losses add up, but bytes that they may affect are not certain.
Sentence doubt(std::uint64_t lost) {
  return sentence(fmt::format("Bytes that the lost event{} may affect have an inferred cause.",
                              lost == 1 ? "" : "s"));
}

constexpr std::string_view kNotCounted =
    "Sources are counted when a recording ends. Whether each event that they produced is in this "
    "trace, or is known to be lost, cannot be checked.";

struct Verdict {
  bool is_sound = false;   // no contradictions
  bool is_counted = false; // the sources reported their numbers of events
  bool is_failed = false;  // the recorder failed
  bool has_gaps = false;   // uncounted events may be missing
  bool is_limited = false; // some analysis stopped at a limit
  bool has_devices = false;
  bool has_absent = false; // disks of recorded tasks did more than is in the trace
  std::uint64_t lost = 0;  // counted events

  bool is_clean() const { return is_sound && is_counted && !is_failed && !has_gaps && !is_limited; }
};

Sentence conclusion(const Verdict& verdict) {
  if (!verdict.is_sound)
    return sentence("This does not add up");
  if (!verdict.is_counted)
    return sentence("What can be checked adds up; not everything can be");
  std::string_view begin = "What was counted adds up";
  std::string_view end = ".";
  if (verdict.is_failed) {
    end = "; but the recording failed";
  } else if (verdict.is_limited) {
    begin = "What was looked at adds up";
    end = "; but not all of the trace was";
  } else if (verdict.has_gaps) {
    end = "; but events may be missing";
  } else {
    begin = verdict.has_devices && !verdict.has_absent ? "Everything adds up"
                                                       : "Everything that was recorded adds up";
  }
  if (verdict.lost == 0)
    return sentence(begin).add(end);
  const std::string rest(begin == "Everything adds up" ? "Everything that was recorded adds up"
                                                       : begin);
  return sentence(
      fmt::format("{{lost}} event{} lost. {}{}", verdict.lost == 1 ? " was" : "s were", rest, end),
      {count_value("lost", verdict.lost)});
}

// The sentence of the verdict, and its parts for programs.
Section verdict_section(const Verdict& verdict) {
  Section section{.id = "verdict", .title = conclusion(verdict), .all_rows = 1};
  Row row;
  const auto add = [&](std::string name, Value value) {
    section.columns.push_back({.name = std::move(name)});
    row.values.push_back(std::move(value));
  };
  add("is_clean", verdict.is_clean());
  add("is_sound", verdict.is_sound);
  add("is_counted", verdict.is_counted);
  add("is_failed", verdict.is_failed);
  add("has_gaps", verdict.has_gaps);
  add("is_limited", verdict.is_limited);
  add("has_absent", verdict.has_absent);
  add("lost", verdict.lost);
  section.rows.push_back(std::move(row));
  return section;
}

Verdict verdict_of(const store::TraceReader& trace, bool has_defects, bool has_absent,
                   bool has_gaps, std::uint64_t lost) {
  const store::Manifest& manifest = trace.manifest();
  return {.is_sound = !has_defects && damage_sentences(trace).empty(),
          .is_counted = manifest.is_counted(),
          .is_failed = manifest.state == store::State::ERROR,
          .has_gaps = has_gaps,
          .is_limited = !trace.limits().empty(),
          .has_devices = layer_not_recorded(trace, schema::layer_name(IOT_LAYER_block)).empty(),
          .has_absent = has_absent,
          .lost = lost};
}

// "Devices were not recorded" is another answer than "no devices".
Section checked_section(analysis::Engine& engine, SectionDefinition definition) {
  const std::string no_devices =
      layer_not_recorded(engine.trace(), schema::layer_name(IOT_LAYER_block));
  if (definition.id == "conservation" && !no_devices.empty())
    definition.if_empty = no_devices;
  Section section = make_section(engine, definition, {});
  add_notes(engine.trace(), definition, section);
  return section;
}

} // namespace

Result<Verification> make_verification(analysis::Engine& engine) {
  Verification verification;
  std::vector<Section>& sections = verification.document.sections;
  for (const SectionDefinition& definition : sections_of(&Ranks::verify)) {
    sections.push_back(checked_section(engine, definition));
    if (sections.back().failure)
      return std::unexpected(*sections.back().failure);
  }
  const auto lost = SmallResult::query(engine, "SELECT total(lost) AS lost FROM sources");
  if (!lost)
    return std::unexpected(lost.error());
  auto defects = run_checks(engine, kChecks);
  if (!defects)
    return std::unexpected(defects.error());
  auto absent = run_checks(engine, {&kAbsent, 1});
  if (!absent)
    return std::unexpected(absent.error());
  const Section losses = make_section(engine, losses_section(), {});
  if (losses.failure)
    return std::unexpected(*losses.failure);
  std::vector<Sentence> gaps = gap_sentences(SectionRows(losses));
  const store::TraceReader& trace = engine.trace();
  trace.read_all();
  const Verdict verdict = verdict_of(trace, !defects->empty(), !absent->empty(), !gaps.empty(),
                                     lost->size() == 0 ? 0 : lost->number(0, "lost"));
  Section verdict_text = verdict_section(verdict);
  std::vector<Sentence>& notes = verdict_text.notes;
  std::ranges::move(*defects, std::back_inserter(notes));
  std::ranges::move(*absent, std::back_inserter(notes));
  if (verdict.lost > 0)
    notes.push_back(doubt(verdict.lost));
  std::ranges::move(gaps, std::back_inserter(notes));
  std::ranges::move(warning_sentences(trace), std::back_inserter(notes));
  if (!verdict.is_counted)
    notes.push_back(sentence(kNotCounted));
  sections.insert(sections.begin(), std::move(verdict_text)); // the answer first
  verification.document.trace = trace.path().native();
  verification.is_clean = verdict.is_clean();
  return verification;
}

} // namespace iotrail::output

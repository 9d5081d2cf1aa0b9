// SPDX-License-Identifier: BSD-3-Clause
#include "report/trail_text.hpp"

#include "report/recorded.hpp"
#include "report/report_summary.hpp"
#include "report/trail_sections.hpp"
#include "report/warnings.hpp"
#include "schema.hpp"
#include "text/printable.hpp"
#include "text/units.hpp"

namespace iotrail::output {

namespace {

constexpr std::string_view kDefectsSql = R"(
SELECT format('{}: {:,} produced, but {:,} written and {:,} lost', source, produced, written, lost) AS defect
FROM sources WHERE CAST(produced AS HUGEINT) <> CAST(written AS HUGEINT) + lost
UNION ALL
SELECT format('{} {}: {:,} B of {:,} completed are in no link, or in several', coalesce(device_name, 'device ' || device),
              direction, abs(differs), completed)
FROM conservation WHERE differs <> 0
UNION ALL
SELECT format('from the calls to the devices, {}: the parts make {:,} B, the devices completed {:,}', direction, sum(bytes),
              any_value(completed))
FROM byte_balance
  JOIN (SELECT direction AS way, sum(completed) AS completed FROM conservation GROUP BY direction) AS c ON direction = way
GROUP BY direction HAVING sum(bytes) <> any_value(completed))";

constexpr std::string_view kLostSql = "SELECT total(lost) AS lost FROM sources";

// What was lost does add up; what it could have changed is not sure.
void print_doubt(std::uint64_t lost, Sink& sink, std::size_t width) {
  if (lost > 0)
    print_wrapped(fmt::format("{} event{} lost: what {} could have changed has a cause that is "
                              "inferred, and none beyond doubt",
                              human_count(lost), lost == 1 ? " was" : "s were",
                              lost == 1 ? "it" : "they"),
                  sink, width);
}

constexpr std::string_view kConservation = "conservation"; // the section of devices

constexpr std::string_view kNotCounted =
    "Sources are counted when a recording ends. Whether each event that they produced is in this "
    "trace, or is known to be lost, cannot be checked.";

constexpr std::string_view kGapsSql =
    "SELECT * FROM loss_totals WHERE severity = 'gap' ORDER BY events DESC, counter, event";

struct Verdict {
  bool is_sound = false;   // nothing contradicts anything else
  bool is_counted = false; // sources told what they produced
  bool is_failed = false;  // the recorder could not go on
  bool has_gaps = false;   // events may be missing that nobody counted
  bool is_limited = false; // not all that is there was looked at
  bool has_devices = false;
  std::uint64_t lost = 0; // counted one by one

  bool is_clean() const { return is_sound && is_counted && !is_failed && !has_gaps && !is_limited; }
};

std::string conclusion(const Verdict& verdict) {
  if (!verdict.is_sound)
    return "This does not add up";
  if (!verdict.is_counted)
    return "What can be checked adds up; not everything can be";
  const std::string lost =
      verdict.lost == 0 ? "" : fmt::format(", {} lost", human_count(verdict.lost));
  if (verdict.is_failed)
    return fmt::format("What was counted adds up{}; but the recording failed", lost);
  if (verdict.is_limited)
    return fmt::format("What was looked at adds up{}; but not all of the trace was", lost);
  if (verdict.has_gaps)
    return fmt::format("What was counted adds up{}; but events may be missing", lost);
  return fmt::format("Everything {}adds up{}.", verdict.has_devices ? "" : "that was recorded ",
                     lost);
}

Result<void> print_sections(analysis::Engine& engine, const std::string& no_devices, Sink& sink,
                            std::size_t width) {
  bool is_first = true;
  for (Section section : verification()) {
    if (section.name == kConservation && !no_devices.empty())
      section.if_empty = no_devices;
    const auto rows = SmallResult::query(engine, section_sql(section, {}));
    if (!rows)
      return std::unexpected(rows.error());
    if (!has_text(section, *rows))
      continue;
    sink.put(is_first ? "" : "\n");
    is_first = false;
    print_section(section, {}, *rows, engine.trace(), sink, width);
  }
  return {};
}

struct Findings {
  SmallResult lost;
  SmallResult defects;
  SmallResult gaps;
};

Result<Findings> find(analysis::Engine& engine) {
  Findings findings;
  const std::pair<std::string_view, SmallResult*> asked[] = {
      {kLostSql, &findings.lost}, {kDefectsSql, &findings.defects}, {kGapsSql, &findings.gaps}};
  for (const auto& [sql, into] : asked) {
    auto rows = SmallResult::query(engine, sql);
    if (!rows)
      return std::unexpected(rows.error());
    *into = std::move(*rows);
  }
  return findings;
}

Verdict verdict_of(const store::TraceReader& trace, const Findings& findings, bool has_devices) {
  const store::Manifest& manifest = trace.manifest();
  return {.is_sound = findings.defects.size() == 0 && damage_sentences(trace).empty(),
          .is_counted = manifest.is_counted(),
          .is_failed = manifest.state == store::State::ERROR,
          .has_gaps = findings.gaps.size() != 0,
          .is_limited = !trace.limits().empty(),
          .has_devices = has_devices,
          .lost = findings.lost.size() == 0 ? 0 : findings.lost.number(0, "lost")};
}

} // namespace

Result<bool> write_verification(analysis::Engine& engine, std::size_t width, std::FILE* file) {
  Sink sink(file);
  const std::string no_devices =
      layer_not_recorded(engine.trace(), schema::layer_name(IOT_LAYER_block));
  if (Result<void> printed = print_sections(engine, no_devices, sink, width); !printed)
    return std::unexpected(printed.error());
  const auto findings = find(engine);
  if (!findings)
    return std::unexpected(findings.error());
  engine.trace().read_all();
  const Verdict verdict = verdict_of(engine.trace(), *findings, no_devices.empty());
  sink.print("\n{}\n", conclusion(verdict));
  for (std::size_t row = 0; row < findings->defects.size(); ++row)
    print_wrapped(printable(findings->defects.text(row, "defect")), sink, width);
  print_doubt(verdict.lost, sink, width);
  print_gaps(findings->gaps, sink, width);
  for (const std::string& sentence : warning_sentences(engine.trace()))
    print_wrapped(sentence, sink, width);
  if (!verdict.is_counted)
    print_wrapped(kNotCounted, sink, width);
  if (Result<void> finished = sink.finish(); !finished)
    return std::unexpected(finished.error());
  return verdict.is_clean();
}

} // namespace iotrail::output

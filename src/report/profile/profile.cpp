// SPDX-License-Identifier: BSD-3-Clause
#include "report/profile/profile.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/sections.hpp"
#include "report/small_result.hpp"
#include "report/warnings.hpp"

namespace iotrail::output {

namespace {

constexpr double kMost = 0.5; // of the accesses: the pattern to name

// The accesses of all files by layer and direction. Rates are by the time from the first begin to
// the last end.
constexpr std::string_view kTotalsSql = R"(
WITH
  sums AS (
    SELECT layer, direction, count(DISTINCT file) AS files, total(accesses) AS accesses, total(bytes) AS bytes,
           minus(max(until_ns), min(from_ns)) AS duration_ns, total(accesses - streams) AS steps, total(sequential) AS sequential,
           total(random) AS random, total(strided) AS strided, total(reverse) AS reverse, total(repeated) AS repeated
    FROM file_profiles
    GROUP BY layer, direction
  )
SELECT s.layer AS layer, l.depth AS depth, s.layer IN (SELECT asked_layer FROM asked_layers) AS is_asked, s.direction AS direction,
       s.files AS files, s.accesses AS accesses, s.bytes AS bytes, s.duration_ns AS duration_ns, s.steps AS steps,
       1e9 * s.bytes / nullif(s.duration_ns, 0) AS bytes_per_s, 1e9 / 4096 * s.bytes / nullif(s.duration_ns, 0) AS iops_4k,
       s.sequential / nullif(s.steps, 0) AS sequential_share, s.random / nullif(s.steps, 0) AS random_share,
       s.strided / nullif(s.steps, 0) AS strided_share, s.reverse / nullif(s.steps, 0) AS reverse_share,
       s.repeated / nullif(s.steps, 0) AS repeated_share
FROM sums AS s JOIN layer_list AS l ON s.layer = l.layer
ORDER BY is_asked DESC, accesses DESC, depth, direction)";

struct Pattern {
  std::string_view column;
  std::string_view words;
};
constexpr Pattern kPatterns[] = {{"sequential_share", "SEQUENTIAL"},
                                 {"random_share", "RANDOM"},
                                 {"strided_share", "STRIDED"},
                                 {"reverse_share", "BACKWARDS"},
                                 {"repeated_share", "REPEATED AT ONE PLACE"}};

Result<SmallResult> read_totals(analysis::Engine& engine) {
  auto totals = SmallResult::query(engine, kTotalsSql);
  if (totals && totals->size() == 0)
    return fail("the trace has no read or write of a file at a known position",
                "it needs layer syscall, vfs, app or block");
  return totals;
}

// "READS ARE SEQUENTIAL (98.4 % of 1,023 steps between 1,024 reads, 64.0 MiB)": a step goes from one
// access to the next of its stream.
void add_verdict(const SmallResult& totals, std::size_t row, Sentence& title) {
  const std::string name = totals.text(row, "direction") == "read" ? "reads" : "writes";
  const std::string_view things = name == "reads" ? "READS" : "WRITES";
  const std::string values = fmt::format(
      "{{{0}}}{1}, {{{0}_bytes}})", name,
      totals.number(row, "steps") == 0 ? "" : " " + name); // names of values: reads, reads_bytes
  const auto* found = std::ranges::find_if(
      kPatterns, [&](const Pattern& pattern) { return totals.real(row, pattern.column) > kMost; });
  const std::string begin = title.empty() ? "" : ", ";
  const std::vector<NamedValue> counts = {
      count_value(name, totals.number(row, "accesses")),
      bytes_value(name + "_bytes", totals.number(row, "bytes"))};
  if (totals.number(row, "steps") == 0) {
    title.add(fmt::format("{}{} ARE SINGLE ({}", begin, things, values), counts);
  } else if (found == std::end(kPatterns)) {
    title.add(fmt::format("{}{} ARE MIXED ({}", begin, things, values), counts);
  } else {
    title.add(fmt::format("{0}{1} ARE {2} ({{{3}_share}} of {{{3}_steps}} steps between ", begin,
                          things, found->words, name),
              {share_value(name + "_share", totals.real(row, found->column)),
               count_value(name + "_steps", totals.number(row, "steps"))});
    title.add(values, counts);
  }
}

Sentence title_of(const SmallResult& totals) {
  Sentence title;
  for (std::size_t row = 0; row < totals.size(); ++row)
    if (totals.text(row, "is_asked") == totals.text(0, "is_asked") &&
        totals.text(row, "layer") == totals.text(0, "layer"))
      add_verdict(totals, row, title);
  return title;
}

std::vector<Fact> facts_of(const SmallResult& totals, const std::string& selection) {
  std::vector<Fact> facts;
  if (!selection.empty())
    facts.push_back({"only", only({"selection", selection, Meaning::command})});
  for (std::size_t row = 0; row < totals.size(); ++row) {
    const std::string layer = totals.text(row, "layer");
    Sentence fact =
        sentence(fmt::format("{{direction}}: {{bytes}} of {{files}} {} in {{duration_ns}}",
                             totals.number(row, "files") == 1 ? "file" : "files"),
                 {text_value("direction", totals.text(row, "direction")),
                  bytes_value("bytes", totals.number(row, "bytes")),
                  count_value("files", totals.number(row, "files")),
                  ns_value("duration_ns", totals.number(row, "duration_ns"))});
    if (!totals.is_null(row, "bytes_per_s"))
      fact.add(": {bytes_per_s} a second, {iops_4k} units of 4 KiB a second",
               {{"bytes_per_s", totals.value(row, "bytes_per_s"), Meaning::bytes},
                {"iops_4k", totals.value(row, "iops_4k"), Meaning::count}});
    const bool is_same = row > 0 && layer == totals.text(row - 1, "layer");
    facts.push_back({is_same ? "" : layer, std::move(fact)});
  }
  return facts;
}

// The numbers of each region are a list for programs.
void make_lists(Section& section) {
  const auto column = std::ranges::find(section.columns, "regions", &Column::name);
  if (column == section.columns.end())
    return;
  const auto at = static_cast<std::size_t>(column - section.columns.begin());
  for (Row& row : section.rows)
    row.values[at] = JsonText{text_of(row.values[at])};
}

} // namespace

Result<Document> make_profile(analysis::Engine& engine, const ProfileOptions& options) {
  const auto totals = read_totals(engine);
  if (!totals)
    return std::unexpected(totals.error());
  Document document{.trace = engine.trace().path().string(),
                    .title = title_of(*totals),
                    .facts = facts_of(*totals, options.selection)};
  for (const SectionDefinition& definition : sections_of(&Ranks::profile)) {
    Section section = make_section(engine, definition, options.rows);
    add_notes(engine.trace(), definition, section);
    make_lists(section);
    document.sections.push_back(std::move(section));
  }
  document.warnings = answer_warnings(engine.trace());
  return document;
}

Result<ProfiledRun> read_profiled_run(analysis::Engine& engine) {
  const auto totals = read_totals(engine);
  if (!totals)
    return std::unexpected(totals.error());
  ProfiledRun run{.trace = engine.trace().path().string(), .values = {}};
  for (std::size_t row = 0; row < totals->size(); ++row)
    for (std::size_t i = 0; i < std::size(kProfileMeasures); ++i)
      if (const std::string_view name = kProfileMeasures[i].name; !totals->is_null(row, name))
        run.values[{totals->number(row, "depth"), totals->text(row, "layer"),
                    totals->text(row, "direction"), i}] = totals->real(row, name);
  run.warnings = answer_warnings(engine.trace());
  return run;
}

Document make_calibration(const std::vector<ProfiledRun>& runs, const std::string& selection) {
  Document document{.trace = runs.front().trace,
                    .title = sentence("PROFILE OF {runs} RUNS: how much their accesses differ",
                                      {count_value("runs", runs.size())})};
  if (!selection.empty())
    document.facts.push_back({"only", only({"selection", selection, Meaning::command})});
  for (const ProfiledRun& run : runs) {
    document.facts.push_back(
        {&run == &runs.front() ? "runs" : "", only({"trace", run.trace, Meaning::path})});
    if (!run.warnings.empty())
      document.warnings.push_back(
          sentence("{trace} lost events, is incomplete or the like: `iotrail report` says more.",
                   {{"trace", run.trace, Meaning::path}}));
  }
  document.sections.push_back(calibration_section(runs));
  return document;
}

analysis::EngineOptions profile_engine_options(analysis::EngineOptions options) {
  options.kept_views = {"all_file_accesses", "access_steps"};
  return options;
}

} // namespace iotrail::output

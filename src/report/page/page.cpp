// SPDX-License-Identifier: BSD-3-Clause
#include "report/page/page.hpp"

#include "report/answer/first_screen.hpp"
#include "report/cache/cache_report.hpp"
#include "report/coverage.hpp"
#include "report/explain/explain.hpp"
#include "report/findings.hpp"
#include "report/page/place.hpp"
#include "report/report.hpp"
#include "report/snapshot_report.hpp"
#include "report/stat.hpp"

namespace iotrail::output {

namespace {

// The page filters and sorts what it has. More rows hardly help, and each costs about 100 bytes.
constexpr std::uint64_t kRows = 200;
constexpr std::uint64_t kSlowest = 12;

template <class Target> Result<void> set(Target& target, Result<Document> made) {
  if (!made)
    return std::unexpected(made.error());
  target = std::move(*made);
  return {};
}

void add_places(const std::vector<Finding>& findings, std::vector<FindingPlace>& places) {
  for (const Finding& finding : findings) {
    places.push_back({finding.rule->id, section_that_shows(finding.rule->name)});
    add_places(finding.also, places);
  }
}

// What a trace may have nothing to say about.
void set_if_any(std::optional<Document>& target, Result<Document> made) {
  if (made)
    target = std::move(*made);
}

// Of a trace with one kind of data only.
Result<Page> page_of(Result<Document> report) {
  Page page;
  const auto made = set(page.report, std::move(report));
  return made ? Result<Page>(std::move(page)) : std::unexpected(made.error());
}

} // namespace

std::uint64_t page_steps() {
  return first_screen_steps() + report_steps({}) + picture_steps();
}

analysis::EngineOptions page_engine_options(analysis::EngineOptions options) {
  options = findings_engine_options(std::move(options));
  for (const char* view : {"byte_balance", "page_accesses"})
    options.kept_views.emplace_back(view);
  return options;
}

Result<Page> make_page(analysis::Engine& engine, const PageOptions& options) {
  const std::uint64_t rows = options.rows == 0 ? kRows : options.rows;
  const store::TraceReader& trace = engine.trace();
  if (has_sums(trace))
    return page_of(make_stat(engine, {.rows = rows}));
  if (is_of_snapshots(trace))
    return page_of(make_snapshot_report(engine, {.rows = rows}));
  Page page;
  const auto judgement = judge(engine);
  if (!judgement)
    return std::unexpected(judgement.error());
  if (auto made = set(page.answer, make_first_screen(engine, options.selection, *judgement)); !made)
    return std::unexpected(made.error());
  page.findings = findings_document(trace, *judgement, false);
  add_places(judgement->findings, page.places);
  if (auto made = set(page.report, make_report(engine, {.rows = {.rows = rows},
                                                        .selection = options.selection}));
      !made)
    return std::unexpected(made.error());
  page.pictures = make_pictures(engine);
  set_if_any(page.slowest,
             make_explanation(engine, {.slowest = kSlowest, .selection = options.selection}));
  set_if_any(page.cache, make_cache_report(engine, {.selection = options.selection}));
  if (!snapshot_views(trace).empty())
    set_if_any(page.snapshots, make_snapshot_report(engine, {.rows = rows}));
  return page;
}

} // namespace iotrail::output

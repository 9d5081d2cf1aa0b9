// SPDX-License-Identifier: BSD-3-Clause
#include "report/page/page.hpp"

#include "report/coverage.hpp"
#include "report/explain/explain.hpp"
#include "report/findings.hpp"
#include "report/first_screen.hpp"
#include "report/report.hpp"
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

} // namespace

std::uint64_t page_steps() {
  return first_screen_steps() + report_steps({});
}

Result<Page> make_page(analysis::Engine& engine, const PageOptions& options) {
  const std::uint64_t rows = options.rows == 0 ? kRows : options.rows;
  Page page;
  if (has_sums(engine.trace())) {
    const auto made = set(page.report, make_stat(engine, {.rows = rows}));
    return made ? Result<Page>(std::move(page)) : std::unexpected(made.error());
  }
  const auto judgement = judge(engine);
  if (!judgement)
    return std::unexpected(judgement.error());
  if (auto made = set(page.answer, make_first_screen(engine, options.selection, *judgement)); !made)
    return std::unexpected(made.error());
  page.findings = findings_document(engine.trace(), *judgement, false);
  if (auto made = set(page.report, make_report(engine, {.rows = {.rows = rows},
                                                        .selection = options.selection}));
      !made)
    return std::unexpected(made.error());
  page.pictures = make_pictures(engine);
  if (auto slowest =
          make_explanation(engine, {.slowest = kSlowest, .selection = options.selection}))
    page.slowest = std::move(*slowest); // else there is no operation to explain
  return page;
}

} // namespace iotrail::output

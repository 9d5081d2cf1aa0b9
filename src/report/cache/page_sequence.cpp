// SPDX-License-Identifier: BSD-3-Clause
#include "report/cache/page_sequence.hpp"

#include <variant>

#include <fmt/format.h>

#include "analysis/engine/sql_text.hpp"

namespace iotrail::output {

namespace {

constexpr unsigned kPageBits = 36; // a file of 256 TiB
constexpr std::uint64_t kMostThings = 1U << 28U;

std::string sql_of(const std::string& device) {
  if (device.empty())
    return "SELECT file, is_read, first_page, pages FROM page_accesses ORDER BY ts_ns, op_id";
  return fmt::format(
      "SELECT q.device, choice_text('block', q.flags) = 'read', CAST(q.sector // 8 AS UBIGINT), "
      "CAST((q.sector % 8 + q.bytes // 512 + 7) // 8 AS UBIGINT) FROM requests AS q LEFT JOIN "
      "devices AS d ON "
      "q.device = d.device WHERE choice_text('block', q.flags) IN ('read', 'write') AND "
      "q.bytes > 0 {} ORDER BY q.ts_ns, q.sector",
      device == "all" ? "" : "AND d.name = " + analysis::sql_literal(device));
}

std::uint64_t number_in(const analysis::Cell& cell) {
  if (const auto* natural = std::get_if<std::uint64_t>(&cell))
    return *natural;
  if (const auto* integer = std::get_if<std::int64_t>(&cell))
    return *integer < 0 ? UINT64_MAX : static_cast<std::uint64_t>(*integer);
  return UINT64_MAX; // unknown, or too large a number
}

} // namespace

PageSequence::PageSequence(analysis::Engine& engine, std::string device, const PageLimits& limits)
    : engine_(engine), sql_(sql_of(device)), limits_(limits) {}

analysis::Page PageSequence::page_of(std::uint64_t thing, std::uint64_t number) {
  const auto [found, is_new] = things_.try_emplace(thing, things_.size());
  if (found->second >= kMostThings - 1 || number >> kPageBits != 0)
    return analysis::kNoPage;
  return found->second << kPageBits | number;
}

Result<PageTally>
PageSequence::read(const std::function<void(analysis::Page, bool is_read)>& visit) {
  auto rows = engine_.query(sql_);
  if (!rows)
    return std::unexpected(rows.error());
  PageTally tally;
  std::uint64_t accesses = 0;
  for (;;) {
    const auto more = rows->next();
    if (!more)
      return std::unexpected(more.error());
    if (!*more)
      break;
    const auto row = rows->row();
    const std::uint64_t first = number_in(row[2]);
    const std::uint64_t pages = number_in(row[3]);
    const auto* is_read = std::get_if<bool>(&row[1]);
    if (pages > limits_.pages_per_call || first > UINT64_MAX - pages ||
        page_of(number_in(row[0]), first + pages) == analysis::kNoPage) {
      ++tally.impossible;
      continue;
    }
    if (accesses + pages > limits_.accesses) {
      ++tally.calls_left_out;
      continue;
    }
    accesses += pages;
    ++tally.calls;
    const analysis::Page page = page_of(number_in(row[0]), first);
    for (std::uint64_t i = 0; i < pages; ++i)
      visit(page + i, is_read != nullptr && *is_read);
  }
  tally.things = things_.size();
  return tally;
}

analysis::EngineOptions cache_engine_options(analysis::EngineOptions options) {
  options.kept_views = {"page_accesses"};
  return options;
}

} // namespace iotrail::output

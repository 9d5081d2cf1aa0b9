// SPDX-License-Identifier: BSD-3-Clause
#include "report/explain/explain_sector.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "analysis/engine/sql_text.hpp"
#include "report/coverage.hpp"
#include "report/section.hpp"
#include "report/small_result.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

using analysis::sql_literal;

// First the position of the I/O, then its purpose.
template <std::size_t Count>
constexpr std::array<ColumnDefinition, Count + 6>
with_cause(const ColumnDefinition (&where)[Count]) {
  std::array<ColumnDefinition, Count + 6> columns{};
  std::ranges::copy(std::to_array<ColumnDefinition>({
                        {.title = "bytes", .name = "bytes", .meaning = Meaning::bytes},
                        {.title = "why", .name = "_why"},
                        {.title = "doubt", .name = "confidence", .drop_priority = 2},
                        {.title = "operation", .name = "op"},
                        {.title = "process", .name = "process", .drop_priority = 1},
                        {.title = "file", .name = "path", .meaning = Meaning::path},
                    }),
                    std::ranges::copy(where, columns.begin()).out);
  return columns;
}

constexpr auto kSectorColumns = with_cause({
    {.title = "at second", .name = "at_second", .meaning = Meaning::second},
    {.title = "device", .name = "device_name"},
    {.title = "", .name = "direction"},
});
constexpr std::string_view kSectorSql = R"(
SELECT l.ts_ns AS ts_ns, (l.ts_ns - least(l.ts_ns, r.begin_ns)) / 1e9 AS at_second, d.name AS device_name,
       l.direction AS direction, l.bytes AS bytes, l.cause AS cause, y.words AS _why, l.confidence AS confidence,
       CASE l.op_id WHEN 0 THEN NULL ELSE op_text(l.op_id) END AS op,
       CASE WHEN l.pid = 0 THEN NULL ELSE coalesce(p.comm, '') || '[' || l.pid || ']' END AS process, n.path AS path,
       l.device_position AS device_position
FROM links AS l CROSS JOIN run AS r LEFT JOIN devices AS d ON l.device = d.device
  LEFT JOIN programs AS p ON l.pid = p.program_pid LEFT JOIN file_names AS n ON l.file = n.file
  LEFT JOIN causes AS y ON l.cause = y.cause
WHERE l.device_position < CAST({0} AS HUGEINT) * 512 + 512 AND l.device_position + l.bytes > CAST({0} AS HUGEINT) * 512 AND ({1} = '' OR d.name = {1}))";

constexpr auto kRequestColumns = with_cause({
    {.title = "at second",
     .name = "at_second",
     .meaning = Meaning::second,
     .suppress_repeats = true},
    {.title = "took",
     .name = "duration_ns",
     .meaning = Meaning::ns,
     .suppress_repeats = true,
     .drop_priority = 3},
    {.title = "device", .name = "device_name", .drop_priority = 4},
    {.title = "", .name = "direction"},
    {.title = "sector", .name = "sector", .meaning = Meaning::id},
});

// The kernel reuses a request after its completion, so that many may have one number. It may also
// complete a request in parts. A request without bytes is a flush.
constexpr std::string_view kUsesSql = R"(
  uses AS (
    SELECT e.request AS request, e.ts_ns AS ts_ns, e.duration_ns AS duration_ns, plus(e.ts_ns, e.duration_ns) AS completed_ns,
           e.ts_ns - least(e.ts_ns, r.begin_ns) AS since_ns, e.sector AS sector, e.bytes AS bytes, e.device AS device,
           choice_text('block', e.flags) AS direction
    FROM block_complete AS e CROSS JOIN run AS r
  ))";
constexpr std::string_view kRequestSql = R"(
WITH {0}
SELECT u.ts_ns AS ts_ns, u.since_ns / 1e9 AS at_second, u.duration_ns AS duration_ns, d.name AS device_name,
       u.direction AS direction, CAST(coalesce(l.device_position / 512, u.sector) AS UBIGINT) AS sector,
       coalesce(l.bytes, u.bytes) AS bytes, l.cause AS cause, y.words AS _why, l.confidence AS confidence,
       CASE l.op_id WHEN 0 THEN NULL ELSE op_text(l.op_id) END AS op,
       CASE WHEN l.pid = 0 THEN NULL ELSE coalesce(p.comm, '') || '[' || l.pid || ']' END AS process, n.path AS path,
       coalesce(l.device_position, CAST(u.sector AS HUGEINT) * 512) AS device_position
FROM uses AS u
  LEFT JOIN links AS l ON l.device = u.device AND l.issued_ns = u.ts_ns AND l.completed_ns = u.completed_ns
        AND l.device_position >= CAST(u.sector AS HUGEINT) * 512 AND l.device_position < CAST(u.sector AS HUGEINT) * 512 + u.bytes
  LEFT JOIN devices AS d ON u.device = d.device
  LEFT JOIN programs AS p ON l.pid = p.program_pid LEFT JOIN file_names AS n ON l.file = n.file
  LEFT JOIN causes AS y ON l.cause = y.cause
WHERE u.request = {1} AND ({2}))";
constexpr std::string_view kNearestSql = R"(
WITH {0}
SELECT request, since_ns FROM uses
ORDER BY abs(CAST(request AS HUGEINT) - {1}), abs(CAST(since_ns AS HUGEINT) - {2}), ts_ns LIMIT 1)";

// For the layer of the devices.
std::string not_recorded(const analysis::Engine& engine) {
  return layer_not_recorded(engine.trace(), schema::layer_name(IOT_LAYER_block));
}

std::string matching(const ExplainOptions& options) {
  return options.selection.empty() ? "" : fmt::format(" that matches {}", options.selection);
}

Error no_request(analysis::Engine& engine, const ExplainOptions& options) {
  Error error{"nothing to explain", not_recorded(engine),
              "Requests are events of the layer block; none is in the trace.", 0};
  if (!error.why.empty())
    return error;
  error.why = fmt::format("no request {:#x}{} was completed{}", *options.request, matching(options),
                          options.at_ns ? " that was under way then" : "");
  const auto next =
      SmallResult::query(engine, fmt::format(fmt::runtime(kNearestSql), kUsesSql, *options.request,
                                             options.at_ns.value_or(0)));
  if (next && next->size() > 0)
    error.hint =
        fmt::format("The nearest is {:#x}, issued at second {:.6f}.", next->number(0, "request"),
                    static_cast<double>(next->number(0, "since_ns")) / 1e9);
  return error;
}

// `no_rows` returns the error for an empty section.
template <class NoRows>
Result<Section> found(analysis::Engine& engine, const SectionDefinition& definition,
                      const NoRows& no_rows) {
  Section section = make_section(engine, definition, {});
  if (section.failure)
    return std::unexpected(*section.failure);
  if (section.rows.empty())
    return std::unexpected(no_rows());
  return section;
}

} // namespace

Result<Section> make_sector(analysis::Engine& engine, const ExplainOptions& options) {
  const std::string sql =
      fmt::format(fmt::runtime(kSectorSql), *options.sector, sql_literal(options.device));
  const SectionDefinition section{.id = "sector",
                                  .title = "Who read or wrote it",
                                  .sql = sql,
                                  .order = "ts_ns, device_position, bytes, op, process, path",
                                  .columns = kSectorColumns};
  return found(engine, section, [&] {
    return fail(fmt::format("nothing in the trace{} read or wrote sector {}{}", matching(options),
                            *options.sector, options.device.empty() ? "" : " of " + options.device),
                not_recorded(engine),
                "Sectors have 512 bytes, and count from the begin of the whole disk.")
        .error();
  });
}

Result<Section> make_request(analysis::Engine& engine, const ExplainOptions& options) {
  const std::string when =
      options.at_ns ? fmt::format("u.since_ns <= {0} AND plus(u.since_ns, u.duration_ns) >= {0}",
                                  *options.at_ns)
                    : "true";
  const std::string sql = fmt::format(fmt::runtime(kRequestSql), kUsesSql, *options.request, when);
  const SectionDefinition section{.id = "request",
                                  .title = "Who caused what it carried",
                                  .sql = sql,
                                  .order = "ts_ns, device_position, bytes, op, process, path",
                                  .columns = kRequestColumns};
  return found(engine, section, [&] { return no_request(engine, options); });
}

} // namespace iotrail::output

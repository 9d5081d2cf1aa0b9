// SPDX-License-Identifier: BSD-3-Clause
#include "export/otf2/otf2_details.hpp"

#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/engine/sql_text.hpp"
#include "schema.hpp"

namespace iotrail::output {
namespace {

struct Detail {
  std::string_view name;
  std::string_view column; // of the tables; those that lack it have NULL
  std::string_view type;
};

constexpr std::array kDetails = {
    Detail{"call", "call", "VARCHAR"},       Detail{"fd", "fd", "BIGINT"},
    Detail{"result", "result", "BIGINT"},    Detail{"file", "file", "UBIGINT"},
    Detail{"flags", "flags", "UBIGINT"},     Detail{"argument", "argument", "UBIGINT"},
    Detail{"command", "command", "VARCHAR"}, Detail{"lock", "lock", "VARCHAR"},
    Detail{"whence", "whence", "VARCHAR"},   Detail{"position", "offset", "BIGINT"},
    Detail{"first_fd", "first", "UBIGINT"},  Detail{"last_fd", "last", "UBIGINT"},
    Detail{"read_fd", "read_fd", "BIGINT"},  Detail{"write_fd", "write_fd", "BIGINT"},
};

// What a call does to descriptors. Calls that make a pair but return none are left out.
constexpr std::string_view kWhatSql = R"(
CASE WHEN call IN ('dup', 'dup2', 'dup3') OR command LIKE 'F_DUPFD%' THEN 'duplicate'
WHEN makes_fd AND call NOT IN ('bind', 'listen', 'connect', 'shutdown', 'socketpair')
OR call IN ('IORING_OP_OPENAT', 'IORING_OP_OPENAT2') THEN 'open'
WHEN event IN ('syscall_close', 'app_close') OR call = 'IORING_OP_CLOSE' THEN 'close'
WHEN call = 'close_range' THEN 'close_range' WHEN call IN ('pipe', 'pipe2') THEN 'pipe'
WHEN event IN ('syscall_seek', 'app_seek') THEN 'seek' WHEN command = 'F_SETFL' THEN 'status'
WHEN command = 'F_SETFD' THEN 'close_on_exec'
WHEN command IN ('F_SETLK', 'F_SETLKW', 'F_SETLK64', 'F_SETLKW64', 'F_OFD_SETLK', 'F_OFD_SETLKW')
THEN 'lock' WHEN call = 'flock' THEN 'flock'
WHEN call = 'unlink' OR call = 'unlinkat' AND flags & 512 = 0 OR event = 'app_unlink' AND call <>
'rmdir' THEN 'delete' ELSE '' END)";

std::string value_sql(const store::TableInfo& table, const Detail& detail) {
  if (table.column(detail.column) < 0)
    return fmt::format("CAST(NULL AS {}) AS {}", detail.type, detail.name);
  return fmt::format("any_value(TRY_CAST({} AS {})) AS {}",
                     analysis::sql_name(schema::column_name(detail.column)), detail.type,
                     detail.name);
}

// "": the table has no operations.
std::string table_sql(const store::TableInfo& table) {
  const store::ColumnInfo* op = table.column(schema::Role::op);
  const store::ColumnInfo* time = table.column(schema::Role::time);
  if (op == nullptr || time == nullptr || table.column("pid") < 0)
    return {};
  const store::ColumnInfo* requested = table.column(schema::Role::requested);
  const int result = table.column("result");
  const bool makes_fd = result >= 0 && table.columns[static_cast<std::size_t>(result)].meaning ==
                                           schema::Meaning::result_fd;
  std::vector<std::string> values;
  for (const Detail& detail : kDetails)
    values.push_back(value_sql(table, detail));
  return fmt::format(
      "SELECT {} AS event, {} AS layer, TRY_CAST({} AS UBIGINT) AS op_id, TRY_CAST({} AS UBIGINT) "
      "AS ts_ns, any_value(TRY_CAST(pid AS UBIGINT)) AS pid, {} AS duration_ns, {} AS requested, "
      "{} AS makes_fd, {} FROM {} GROUP BY 3, 4",
      analysis::sql_literal(table.name), analysis::sql_literal(table.layer),
      analysis::sql_name(op->name), analysis::sql_name(time->name),
      table.column("duration_ns") < 0 ? "CAST(0 AS UBIGINT)"
                                      : "any_value(TRY_CAST(duration_ns AS UBIGINT))",
      requested == nullptr ? "CAST(NULL AS UBIGINT)"
                           : fmt::format("max(TRY_CAST({} AS UBIGINT))",
                                         analysis::sql_name(schema::column_name(requested->name))),
      makes_fd, fmt::join(values, ", "), analysis::sql_name(table.name));
}

} // namespace

std::string otf2_details_sql(const store::TraceReader& trace) {
  std::vector<std::string> parts;
  for (const store::TableInfo& table : trace.tables())
    if (std::string sql = table_sql(table); !sql.empty())
      parts.push_back(std::move(sql));
  if (parts.empty())
    parts.emplace_back("SELECT '' AS event, '' AS layer, CAST(0 AS UBIGINT) AS op_id, CAST(0 AS "
                       "UBIGINT) AS ts_ns, CAST(0 AS UBIGINT) AS pid, CAST(0 AS UBIGINT) AS "
                       "duration_ns, CAST(0 AS UBIGINT) AS requested, false AS makes_fd, '' AS "
                       "call, 0 AS fd, 0 AS result, 0 AS file, 0 AS flags, 0 AS argument, '' AS "
                       "command, '' AS lock, '' AS whence, 0 AS position, 0 AS first_fd, 0 AS "
                       "last_fd, 0 AS read_fd, 0 AS write_fd WHERE false");
  return fmt::format("SELECT *, plus(ts_ns, duration_ns) AS end_ns, {} AS what FROM ({})", kWhatSql,
                     fmt::join(parts, " UNION ALL "));
}

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrace/answers/io_rows.hpp"

#include <array>

namespace iotrail::compat::iotrace {
namespace {

struct NamedNumber {
  std::string_view name;
  int number;
};

constexpr NamedNumber kIoClasses[] = {
    {"METADATA", 1},  {"FILE_4KB", 11}, {"FILE_16KB", 12}, {"FILE_64KB", 13}, {"FILE_256KB", 14},
    {"FILE_1MB", 15}, {"FILE_4MB", 16}, {"FILE_16MB", 17}, {"FILE_64MB", 18}, {"FILE_256MB", 19},
    {"FILE_1GB", 20}, {"BULK", 21},     {"DIRECT", 22},    {"MISC", 23},
};

struct NamedKind {
  std::string_view kind;
  std::string_view name;
};

constexpr NamedKind kKinds[] = {
    {"create", "Create"}, {"delete", "Delete"}, {"move_to", "MoveTo"}, {"move_from", "MoveFrom"}};

constexpr std::string_view kArrivals = R"(
SELECT i.arrived_ns AS at_ns, 0 AS step, i.io, i.device, i.device_name, d.model, i.operation, i.sector,
       (CAST(i.bytes AS UBIGINT) + 511) // 512 AS sectors, i.latency_ns, i.depth, is_error(i.error) AS error,
       i.is_flush, i.is_fua, i.is_metadata, i.is_direct, i.is_read_ahead, i.size_class, v.number AS write_hint,
       i.file, f.device AS file_system, f.inode, CAST(greatest(i.position, 0) // 512 AS UBIGINT) AS offset_sectors,
       CAST((greatest(i.file_bytes, 0) + 511) // 512 AS UBIGINT) AS file_sectors,
       CASE WHEN i.file <> 0 THEN path_at(i.file, i.arrived_ns) END AS path, NULL AS kind
FROM device_ios AS i
  LEFT JOIN devices AS d ON i.device = d.device
  LEFT JOIN files AS f ON i.file <> 0 AND i.file = f.file
  LEFT JOIN value_names AS v ON v.value_table = 'write_hint' AND v.name = i.write_hint)";

constexpr std::string_view kCompletions = R"(
UNION ALL
SELECT completed_ns AS at_ns, 1 AS step, io, device, device_name, NULL, operation, sector,
       (CAST(bytes AS UBIGINT) + 511) // 512, latency_ns, depth, is_error(error), is_flush, is_fua, is_metadata, is_direct,
       is_read_ahead, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL
FROM device_ios)";

constexpr std::string_view kNames = R"(
UNION ALL
SELECT e.ts_ns AS at_ns, 2 AS step, 0, coalesce(p.parent_device, f.device), d.name, d.model, NULL, NULL, NULL, NULL, NULL, false, false, false, false, false,
       false, NULL, NULL, e.file, f.device, f.inode, NULL, NULL, e.path, e.kind
FROM file_events AS e JOIN files AS f ON e.file = f.file LEFT JOIN devices AS p ON f.device = p.device
  LEFT JOIN devices AS d ON d.device = coalesce(p.parent_device, f.device)
ORDER BY at_ns, step, io)";

} // namespace

std::string io_rows_sql(bool with_completions) {
  std::string sql(kArrivals);
  if (with_completions)
    sql += kCompletions;
  return sql += kNames;
}

std::string operation_name(Row row) {
  const std::string name = text(row[IoColumn::operation]);
  if (name == "read")
    return "Read";
  return name == "discard" || name == "secure_erase" ? "Discard" : "Write";
}

std::string event_type_name(Row row) {
  const std::string name = text(row[IoColumn::kind]);
  for (const NamedKind& one : kKinds)
    if (one.kind == name)
      return std::string(one.name);
  return "Access";
}

int io_class_number(Row row) {
  const std::string name = text(row[IoColumn::size_class]);
  for (const NamedNumber& one : kIoClasses)
    if (one.name == name)
      return one.number;
  return 0;
}

std::string lba_of(Row row) {
  return natural(row[IoColumn::sectors]) == 0 ? "0" : digits(row[IoColumn::sector]);
}

} // namespace iotrail::compat::iotrace

// SPDX-License-Identifier: BSD-3-Clause
#include "export/iotrc/stream.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "schema.hpp"

namespace iotrail::output::iotrc {

namespace {

// A name with a dot keeps its extension, but not one that begins with the dot.
constexpr std::string_view kHiddenPart =
    "CASE WHEN c = '' THEN '' WHEN starts_with(c, '.') OR NOT contains(c, '.') THEN "
    "left(sha256(c), 12) ELSE "
    "left(sha256(regexp_replace(c, '\\.[^.]*$', '')), 12) || regexp_extract(c, '\\.[^.]*$') END";

} // namespace

std::string Names::path(std::string_view sql) const {
  return are_hidden
             ? fmt::format(
                   "array_to_string(list_transform(string_split({}, '/'), lambda c: {}), '/')", sql,
                   kHiddenPart)
             : std::string(sql);
}

std::string Names::text(std::string_view sql) const {
  return are_hidden
             ? fmt::format("CASE WHEN {0} <> '' THEN left(sha256({0}), 12) ELSE {0} END", sql)
             : std::string(sql);
}

std::string program_join(std::string_view alias, std::string_view pid, std::string_view at) {
  return fmt::format("ASOF LEFT JOIN processes AS {0} ON {0}.pid = {1} AND {0}.since_ns <= {2}",
                     alias, pid, at);
}

std::string Slice::table(std::string_view event) const {
  const schema::Event* known = schema::find_event(event);
  const bool has_end =
      known != nullptr && std::ranges::any_of(known->fields, [](const auto& field) {
        return field.name == std::string_view("duration_ns");
      });
  const std::string_view end = has_end ? "plus(ts_ns, duration_ns)" : "ts_ns";
  if (from_ns == 0 && until_ns == UINT64_MAX)
    return fmt::format("(SELECT *, {} AS final_ns FROM {})", end, event);
  std::string sql =
      fmt::format("(SELECT *, {0} AS final_ns FROM {1}(from_block := {2}) WHERE {0} >= {3}", end,
                  event, first_block, from_ns);
  if (until_ns != UINT64_MAX)
    sql += fmt::format(" AND {} < {}", end, until_ns);
  return sql + fmt::format(" UNION ALL SELECT *, {0} AS final_ns FROM {1}(from_block := {2}) "
                           "WHERE {0} < {3})",
                           end, event, new_block, from_ns);
}

std::vector<Stream> streams(Era era, const Names& names, const Slice& slice) {
  std::vector<Stream> all;
  add_file_streams(era, names, slice, all);
  add_device_streams(era, names, slice, all);
  add_network_streams(era, names, slice, all);
  add_uring_streams(era, names, slice, all);
  add_process_streams(era, names, slice, all);
  all.push_back(file_snapshot_stream(era, names, slice));
  return all;
}

} // namespace iotrail::output::iotrc

// SPDX-License-Identifier: BSD-3-Clause
#include "export/iotrc/stream.hpp"

#include <fmt/format.h>

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

std::vector<Stream> streams(Era era, const Names& names) {
  std::vector<Stream> all;
  add_file_streams(era, names, all);
  add_device_streams(era, names, all);
  add_network_streams(era, names, all);
  add_uring_streams(era, names, all);
  add_process_streams(era, names, all);
  return all;
}

} // namespace iotrail::output::iotrc

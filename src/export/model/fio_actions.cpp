// SPDX-License-Identifier: BSD-3-Clause
#include "export/model/fio_actions.hpp"

#include <xxhash.h>

#include <fmt/format.h>

#include "export/trace_rows.hpp"

namespace iotrail::output {

namespace {

constexpr std::string_view kActionsSql = R"(
SELECT minus(t.ts_ns, r.begin_ns) // 1000, minus(t.until_ns, r.begin_ns) // 1000, t.tid, f.first_path,
       CASE WHEN reads(t.class) THEN 0 WHEN writes(t.class) THEN 1
            WHEN coalesce(t.call, t.class) ILIKE '%fdatasync%' THEN 3 ELSE 2 END,
       coalesce(t.position, 0), CASE WHEN is_sync(t.class) THEN 0 ELSE t.bytes END
FROM file_transfers AS t JOIN file_names AS f ON t.file = f.file CROSS JOIN run AS r
WHERE f.first_path <> '' AND NOT copies(t.class) AND NOT is_error(t.error) AND NOT is_unfinished(t.error)
  AND ((moves_bytes(t.class) AND t.bytes > 0 AND t.position IS NOT NULL)
       OR (is_sync(t.class) AND NOT is_sync_of_all(t.class)))
ORDER BY )";

constexpr std::size_t kLongestName = 200; // fio reads up to 256 bytes, a directory takes 255

} // namespace

Result<void> for_each_fio_action(const TraceInput& input, const Sink& sink, FioOrder order,
                                 const std::function<void(const FioAction&)>& each) {
  const std::string sql =
      fmt::format("{}{}t.ts_ns, t.op_id", kActionsSql, order == FioOrder::thread ? "t.tid, " : "");
  return for_each_row(input.engine, sql, sink, [&](const TraceRow& row) {
    each({.kind = static_cast<FioKind>(row.number(4)),
          .at_us = row.number(0),
          .until_us = row.number(1),
          .tid = row.number(2),
          .file = fio_name(row.text(3)),
          .position = row.number(5),
          .bytes = row.number(6)});
  });
}

std::string_view fio_word(FioKind kind) {
  constexpr std::string_view kWords[] = {"read", "write", "sync", "datasync"};
  return kWords[static_cast<std::size_t>(kind)];
}

// A colon would separate files. A name of another length ends in a hash, so that it stays unique.
std::string fio_name(std::string_view path) {
  std::string name;
  for (const char c : path.substr(path.starts_with('/') ? 1 : 0)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                          (c == '.' && !name.empty());
    if (is_plain)
      name += c;
    else
      name += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  if (name.size() > kLongestName)
    name = fmt::format("{}%{:016x}", name.substr(0, kLongestName),
                       XXH3_64bits(path.data(), path.size()));
  return name;
}

IologWriter::IologWriter(Sink& sink, int version) : sink_(sink), has_times_(version == 3) {
  sink_.print("fio version {} iolog\n", version);
}

void IologWriter::put(std::string_view file, std::string_view action) {
  if (has_times_)
    sink_.print("{} ", last_us_);
  sink_.print("{} {}", file, action);
}

void IologWriter::add(const FioAction& action) {
  last_us_ = action.at_us;
  if (open_.insert(action.file).second) {
    files_.push_back(action.file);
    put(action.file, "add\n");
    put(action.file, "open\n");
  }
  put(action.file, fio_word(action.kind));
  sink_.print(" {} {}\n", action.position, action.bytes);
}

void IologWriter::end() {
  for (const std::string& file : files_)
    put(file, "close\n");
}

} // namespace iotrail::output

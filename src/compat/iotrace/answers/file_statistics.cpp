// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <map>
#include <string>
#include <tuple>

#include "base/bytes.hpp"
#include "compat/iotrace/answers/cells.hpp"
#include "compat/iotrace/answers/mount_points.hpp"
#include "compat/iotrace/answers/statistics.hpp"

namespace iotrail::compat::iotrace {
namespace {

using FileJson = nlohmann::ordered_json;

// Names that were written over only once say nothing new beside their directory.
constexpr const char* kFileSql =
    "SELECT device, file_system, kind, name, operation, requests, errors, bytes, "
    "bytes // requests // 512, "
    "bytes_min, bytes_max, iops, "
    "mib_per_s, workset_bytes, write_invalidation, max(write_invalidation) OVER (PARTITION BY "
    "device, file_system, kind, name) AS most "
    "FROM name_statistics QUALIFY kind = 'directory' OR most > 1 "
    "ORDER BY device, file_system, kind, name, operation";

enum FileColumn : std::size_t {
  kDisk,
  kFileSystem,
  kKind,
  kFileName,
  kFileOperation,
  kCount,
  kFailed,
  kSum,
  kMean,
  kLeast,
  kMost,
  kFileIops,
  kFileMibPerS,
  kFileWorkset,
  kInvalidation
};

std::string sectors_of(const analysis::Cell& bytes) {
  return fmt::to_string((natural(bytes) + kSectorBytes - 1) / kSectorBytes);
}

FileJson group_of(Row row) {
  FileJson metrics = {{"throughput", {{"unit", "IOPS"}, {"value", real(row[kFileIops])}}},
                      {"workset",
                       {{"unit", "sector"},
                        {"value", static_cast<double>(natural(row[kFileWorkset]) / kSectorBytes)}}},
                      {"bandwidth", {{"unit", "MiB/s"}, {"value", real(row[kFileMibPerS])}}}};
  if (!is_null(row[kInvalidation]))
    metrics["write invalidation factor"] = {{"unit", ""}, {"value", real(row[kInvalidation])}};
  return {{"size",
           {{"unit", "sector"},
            {"average", digits(row[kMean])},
            {"min", sectors_of(row[kLeast])},
            {"max", sectors_of(row[kMost])},
            {"total", sectors_of(row[kSum])}}},
          {"metrics", std::move(metrics)},
          {"count", digits(row[kCount])},
          {"errors", digits(row[kFailed])}};
}

const char* member_of(const std::string& kind) {
  if (kind == "directory")
    return "directory";
  return kind == "prefix" ? "fileNamePrefix" : "fileExtension";
}

} // namespace

Result<FileJson> file_statistics_json(analysis::Engine& engine) {
  static const std::array<analysis::Cell, kInvalidation + 1> kNothing{};
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::string, std::string>;
  const MountPoints points(engine.trace().manifest());
  std::map<Key, FileJson> entries;
  const auto read = for_each_row(engine, kFileSql, [&](Row row) {
    const std::string kind = text(row[kKind]);
    const auto [entry, is_new] = entries.try_emplace(
        Key(natural(row[kDisk]), natural(row[kFileSystem]), kind, text(row[kFileName])));
    if (is_new) {
      entry->second = {{"deviceId", digits(row[kDisk])},
                       {"partitionId", digits(row[kFileSystem])},
                       {member_of(kind),
                        kind == "directory"
                            ? points.path_inside(natural(row[kFileSystem]), text(row[kFileName]))
                            : text(row[kFileName])},
                       {"statistics", FileJson::object()}};
      for (const char* group : {"read", "write", "total"})
        entry->second["statistics"][group] = group_of(kNothing);
    }
    entry->second["statistics"][text(row[kFileOperation])] = group_of(row);
    return true;
  });
  if (!read)
    return std::unexpected(read.error());
  FileJson list = FileJson::array();
  for (auto& [key, entry] : entries)
    list.push_back(std::move(entry));
  return FileJson{{"entries", std::move(list)}};
}

} // namespace iotrail::compat::iotrace

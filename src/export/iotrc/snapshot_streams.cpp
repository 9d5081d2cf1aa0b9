// SPDX-License-Identifier: BSD-3-Clause
//
// Snapshots as streams: process, and filesystem_snapshot, which has files of its own for each snapshot.
#include <fmt/format.h>

#include "export/iotrc/stream.hpp"

namespace iotrail::output::iotrc {
namespace {

// Seconds as the original prints dates, in UTC.
constexpr std::string_view kDate = "strftime(date_of({}), '%Y-%m-%d %H:%M:%S')";
constexpr std::string_view kStateSql = "CASE state WHEN 'disk_sleep' THEN 'disk-sleep' WHEN "
                                       "'traced' THEN 'tracing-stop' ELSE state END";
constexpr std::string_view kClock = "CLOCK_REALTIME";

std::string share(std::string_view permille) {
  return fmt::format("format('{{:.1f}}', {} / 10.0)", permille);
}

// Owns the SQL that columns point to.
struct SnapshotSql {
  std::string cpu_5s = share("cpu_5s_permille");
  std::string cpu_2m = share("cpu_2m_permille");
  std::string cpu_1h = share("cpu_1h_permille");
  std::string born = fmt::format(kDate, "coalesce(nullif(born_ns, 0), nullif(modified_ns, 0))");
  std::string modified = fmt::format(kDate, "nullif(modified_ns, 0)");
  std::string accessed = fmt::format(kDate, "nullif(accessed_ns, 0)");
};
const SnapshotSql& snapshot_sql() {
  static const SnapshotSql kSql;
  return kSql;
}

} // namespace

void add_process_streams(Era era, const Names& names, std::vector<Stream>& all) {
  const bool is_current = era == Era::current;
  const SnapshotSql& sql = snapshot_sql();
  Stream stream{
      .name = "process",
      .description = "Processes of each snapshot.",
      .wall_clock = kClock,
      .columns = {kTimestamp,
                  {"pid", "integer", "", "Process.", "pid"},
                  {"name", "string", "", "Its name.", "name"},
                  {"cmdline", "string", "", "Command line.", "cmdline"},
                  {is_current ? "vms_kb" : "virtual_mem_kb", "float", "KB", "Address space.",
                   "format('{:.1f}', virtual_bytes / 1024.0)"},
                  {"rss_kb", "float", "KB", "Memory.", "format('{:.1f}', resident_bytes / 1024.0)"},
                  {is_current ? "creation_time" : "create_time", "datetime", "",
                   "Start of the process.", "created"},
                  {"cpu_5s", "float", "percent", "Share of a CPU in 5 s.", sql.cpu_5s},
                  {"cpu_2m", "float", "percent", "Share of a CPU in 2 minutes.", sql.cpu_2m},
                  {"cpu_1h", "float", "percent", "Share of a CPU in an hour.", sql.cpu_1h},
                  {"status", "string", "", "State.", kStateSql}},
      .rows = fmt::format(
          "SELECT s.begin_ns AS at_ns, p.pid AS pid, p.name AS name, {} AS cmdline, "
          "v.virtual_bytes "
          "AS virtual_bytes, p.resident_bytes AS resident_bytes, "
          "strftime(wall_clock(p.start_ns), '%Y-%m-%d %H:%M:%S') AS created, p.cpu_5s_permille, "
          "p.cpu_2m_permille, p.cpu_1h_permille, p.state AS state FROM snapshot_processes AS p "
          "JOIN snapshots AS s ON p.snapshot = s.snapshot LEFT JOIN (SELECT snapshot, pid, "
          "max(virtual_bytes) AS virtual_bytes FROM snapshot_process GROUP BY snapshot, pid) AS v "
          "ON "
          "v.snapshot = p.snapshot AND v.pid = p.pid WHERE s.is_complete = 1 ORDER BY s.begin_ns, "
          "p.pid",
          names.text("p.command"))};
  if (is_current)
    stream.columns.push_back(kMonoNs);
  all.push_back(std::move(stream));
}

Stream file_snapshot_stream(Era era, const Names& names) {
  const bool is_current = era == Era::current;
  const SnapshotSql& sql = snapshot_sql();
  Stream stream{
      .name = "filesystem_snapshot",
      .description = "Regular files of each snapshot; later ones have differences alone.",
      .wall_clock = kClock,
      .columns = {{"snapshot_timestamp", "datetime", "", "Begin of the snapshot, in UTC.", ""},
                  {is_current ? "file_path" : "path", "string", "", "Path.", "name"},
                  {"size", "integer", "bytes", "Size; -1: the file was removed.",
                   "CASE WHEN difference = 'removed' THEN -1 ELSE CAST(bytes AS BIGINT) END"},
                  {is_current ? "creation_time" : "ctime", "datetime", "",
                   "Creation; where it is unknown, the last modification.", sql.born},
                  {is_current ? "modification_time" : "mtime", "datetime", "", "Last modification.",
                   sql.modified},
                  {is_current ? "access_time" : "atime", "datetime", "", "Last access.",
                   sql.accessed}},
      .rows = fmt::format(
          "SELECT s.begin_ns AS at_ns, s.snapshot AS snapshot, {} AS name, f.* EXCLUDE (snapshot, "
          "path) FROM snapshot_files AS f JOIN snapshots AS s ON f.snapshot = s.snapshot "
          "WHERE s.is_complete = 1 AND (f.type = 'regular' OR (f.difference = 'removed' AND "
          "coalesce(f.type, 'regular') = 'regular')) ORDER BY s.begin_ns, s.snapshot, f.path",
          names.path("f.path"))};
  if (is_current)
    stream.columns.push_back(kMonoNs);
  return stream;
}

} // namespace iotrail::output::iotrc

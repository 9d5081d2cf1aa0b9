// SPDX-License-Identifier: BSD-3-Clause
#include "export/model/level_rows.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "analysis/engine/sql_text.hpp"
#include "export/model/csv_field.hpp"
#include "export/trace_rows.hpp"
#include "text/printable.hpp"

namespace iotrail::output {
namespace {

// The name of the level in the view io_levels, and the numbers of the original's probes.
struct Level {
  std::string_view name;
  char letter;
  char read_probe;
  char write_probe;
  std::string_view read_function;
  std::string_view write_function;
};
constexpr Level kLevels[] = {
    {"call", 'S', '0', '0', "", ""},
    {"vfs", 'V', '2', '1', "vfs_read", "vfs_write"},
    {"pages", 'P', '9', '7', "generic_file_read_iter", "generic_perform_write"},
    {"request", 'B', '6', '6', "submit_bio", "submit_bio"},
    {"command", 'D', '0', '0', "", ""},
};

const Level& level_of(char letter) {
  const auto* found = std::ranges::find(kLevels, letter, &Level::letter);
  return found == std::end(kLevels) ? kLevels[0] : *found;
}

std::string levels_condition(const std::string& letters) {
  std::vector<std::string> names;
  for (const Level& level : kLevels)
    if (letters.empty() || letters.find(static_cast<char>(level.letter | 0x20)) != letters.npos)
      names.push_back(analysis::sql_literal(level.name));
  return names.empty() ? "false" : fmt::format("a.level IN ({})", fmt::join(names, ", "));
}

std::string conditions(const LevelSelection& selection) {
  std::string text = levels_condition(selection.levels);
  // The recording has no requests but those for the file, so that one without a file is for it.
  constexpr std::string_view kOnFile = " AND (f.{} = {} OR (a.device <> 0 AND a.file = 0))";
  if (!selection.file.empty())
    text += fmt::format(kOnFile, "path", analysis::sql_literal(selection.file));
  if (!selection.folder.empty())
    text += fmt::format(kOnFile, "folder", analysis::sql_literal(selection.folder));
  if (!selection.devices.empty())
    text +=
        fmt::format(" AND (a.device = 0 OR a.device IN ({}))", fmt::join(selection.devices, ", "));
  return text;
}

// Names are those at first sight, and the program is the one of that time.
std::string rows_sql(const LevelSelection& selection) {
  return fmt::format(
      "WITH named AS (SELECT file, device, inode, path, CASE WHEN starts_with(path, '/') THEN "
      "coalesce(nullif(regexp_replace(path, '/[^/]*$', ''), ''), '/') END AS folder FROM files), "
      "folders AS (SELECT device, path, "
      "max(inode) AS inode FROM files GROUP BY device, path), chosen AS (SELECT a.*, f.inode AS "
      "inode, f.device AS volume, f.folder AS folder FROM io_levels AS a LEFT JOIN named AS f ON "
      "a.file = f.file WHERE {}), steps AS (SELECT begin_ns AS at_ns, 0 AS step, "
      "bytes_requested AS size, * FROM chosen UNION ALL SELECT end_ns, 1, coalesce(bytes, 0), * "
      "FROM chosen WHERE end_ns IS NOT NULL) SELECT s.at_ns, s.level, s.is_read, s.step, "
      "s.address, s.size, s.pid, s.tid, p.comm, s.inode, d.inode FROM steps AS s LEFT JOIN "
      "folders AS d ON d.device = s.volume AND d.path = s.folder ASOF LEFT JOIN processes AS p ON "
      "p.pid = s.pid AND p.since_ns <= s.at_ns ORDER BY s.at_ns, s.step, s.op_id, s.begin_ns",
      conditions(selection));
}

LevelRow row_of(const TraceRow& row, const LevelSelection& selection) {
  const auto* level = std::ranges::find(kLevels, row.text(1), &Level::name);
  return {.at_ns = row.number(0),
          .level = level == std::end(kLevels) ? '?' : level->letter,
          .is_read = row.is_true(2),
          .is_leave = row.is_true(3),
          .address = row.number(4),
          .bytes = row.number(5),
          .pid = row.number(6),
          .tid = row.number(7),
          .comm = printable(row.text(8)),
          .inode = row.number(9),
          .parent_inode = selection.folder_inode != 0 ? selection.folder_inode : row.number(10)};
}

template <class Each>
Result<void> for_each_level_row(const TraceInput& input, const LevelSelection& selection,
                                const Sink& sink, const Each& each) {
  return for_each_row(input.engine, rows_sql(selection), sink,
                      [&](const TraceRow& row) { each(row_of(row, selection)); });
}

} // namespace

Result<void> write_level_lines(const TraceInput& input, const LevelSelection& selection,
                               Sink& sink) {
  return for_each_level_row(input, selection, sink, [&](const LevelRow& row) {
    const Level& level = level_of(row.level);
    sink.print("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", row.at_ns, row.level,
               row.is_read ? 'R' : 'W', row.address, row.bytes,
               row.is_read ? level.read_probe : level.write_probe, row.is_leave ? 'L' : 'E',
               row.pid, row.tid, row.comm, row.inode, row.parent_inode);
  });
}

Result<void> write_level_csv(const TraceInput& input, Sink& sink) {
  return for_each_level_row(input, {.levels = "vpb"}, sink, [&](const LevelRow& row) {
    const Level& level = level_of(row.level);
    const bool is_request = row.level == 'B';
    if (row.is_leave && !is_request)
      return;
    sink.print("{},{},{},{},{},{},", row.at_ns, row.is_read ? 'R' : 'W', row.address, row.bytes,
               is_request ? "BLK" : "VFS",
               row.is_leave  ? "bio_endio"
               : row.is_read ? level.read_function
                             : level.write_function);
    put_csv_field(sink, row.comm);
    sink.print(",{},{}\n", row.pid, row.inode);
  });
}

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
#include "watch/trace_log.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/engine/engine.hpp"

namespace iotrail::watch {
namespace {

constexpr std::uint64_t kSectorBytes = 512;

std::uint64_t number(const analysis::Cell& cell) {
  if (const auto* value = std::get_if<std::uint64_t>(&cell))
    return *value;
  if (const auto* value = std::get_if<std::int64_t>(&cell))
    return static_cast<std::uint64_t>(*value);
  if (const auto* value = std::get_if<bool>(&cell))
    return *value ? 1 : 0;
  return 0;
}

std::string text(const analysis::Cell& cell) {
  const auto* value = std::get_if<std::string_view>(&cell);
  return value == nullptr ? std::string() : std::string(*value);
}

// Rows of (device, inode).
std::string keys_sql(std::span<const WatchedFile> files) {
  std::vector<std::string> keys;
  for (const WatchedFile& file : files)
    keys.push_back(fmt::format("({}, {})", file.key.device, file.key.inode));
  return fmt::format("{}", fmt::join(keys, ", "));
}

const WatchedFile* find(std::span<const WatchedFile> files, const FileKey& key) {
  const auto found = std::ranges::find(files, key, &WatchedFile::key);
  return found == files.end() ? nullptr : &*found;
}

using Take = std::function<void(std::span<const analysis::Cell>)>;

Result<void> each_row(const std::filesystem::path& trace, const std::string& sql,
                      const Take& take) {
  auto engine = analysis::Engine::open(trace, {.threads = 1});
  if (!engine)
    return std::unexpected(engine.error());
  auto rows = (*engine)->query(sql);
  if (!rows)
    return std::unexpected(rows.error());
  for (;;) {
    const auto more = rows->next();
    if (!more)
      return std::unexpected(more.error());
    if (!*more)
      return {};
    take(rows->row());
  }
}

// Addresses of bios count from the begin of the partition, as those of the file system do.
void place_bio(const WatchedFile& file, LogEntry& entry) {
  entry.address /= kSectorBytes;
  entry.address -= std::min(entry.address, file.first_sector);
}

} // namespace

Result<void> read_events(const std::filesystem::path& trace, std::span<const WatchedFile> files,
                         std::uint64_t since_ns, std::uint64_t until_ns, const Writers& writers,
                         const std::function<void(const FileKey&, LogEntry)>& take) {
  const std::string sql = fmt::format(
      "SELECT f.device, f.inode, l.ts_ns, l.is_read, l.is_bio, l.position, l.bytes, l.device, "
      "l.pid, l.comm, l.is_submitter "
      "FROM file_log AS l JOIN files AS f ON l.file = f.file "
      "WHERE (f.device, f.inode) IN ({}) AND l.ts_ns >= {} AND l.ts_ns < {} "
      "ORDER BY l.ts_ns, l.is_bio",
      keys_sql(files), since_ns, until_ns);
  return each_row(trace, sql, [&](std::span<const analysis::Cell> row) {
    const FileKey key{static_cast<iot_u32>(number(row[0])), number(row[1])};
    const WatchedFile* file = find(files, key);
    LogEntry entry{.ts_ns = number(row[2]),
                   .address = number(row[5]),
                   .bytes = number(row[6]),
                   .pid = static_cast<std::uint32_t>(number(row[8])),
                   .is_read = number(row[3]) != 0,
                   .is_bio = number(row[4]) != 0,
                   .comm = text(row[9])};
    // A mapped disk hands its bios on to the disks below.
    if (file == nullptr || (entry.is_bio && file->disk != 0 && number(row[7]) != file->disk))
      return;
    if (entry.is_bio)
      place_bio(*file, entry);
    const auto writer = writers.find(key);
    if (number(row[10]) != 0 && !entry.is_read && writer != writers.end()) {
      entry.pid = writer->second.pid;
      entry.comm = writer->second.comm;
    }
    take(key, std::move(entry));
  });
}

Result<Writers> read_writers(const std::filesystem::path& trace,
                             std::span<const WatchedFile> files) {
  const std::string sql =
      fmt::format("SELECT f.device, f.inode, w.pid, p.comm "
                  "FROM write_fates AS w JOIN files AS f ON w.file = f.file "
                  "LEFT JOIN programs AS p ON w.pid = p.program_pid "
                  "WHERE (f.device, f.inode) IN ({}) AND w.pending > 0 AND w.pid <> 0 "
                  "ORDER BY w.pending",
                  keys_sql(files));
  Writers writers;
  const auto read = each_row(trace, sql, [&](std::span<const analysis::Cell> row) {
    writers[{static_cast<iot_u32>(number(row[0])), number(row[1])}] = {
        .pid = static_cast<std::uint32_t>(number(row[2])), .comm = text(row[3])};
  });
  return read ? Result<Writers>(std::move(writers)) : std::unexpected(read.error());
}

} // namespace iotrail::watch

// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/names/copied_up.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analysis/names/table_rows.hpp"

namespace iotrail::analysis {
namespace {

using FileOfOp = std::unordered_map<std::uint64_t, std::uint32_t>;
using Paths = std::unordered_map<std::uint32_t, std::string>;

constexpr std::string_view kCopies = "/work/#"; // in the work directory of overlayfs

// The files of events, by operation, if `is_wanted(op_id, file)`.
template <class Wanted>
FileOfOp files_by_op(const store::TraceReader& trace, std::string_view name, Wanted is_wanted) {
  FileOfOp files;
  if (const store::TableInfo* table = trace.table(name))
    TableRows(trace, *table, {"op_id", "file"}).for_each([&](auto number, auto) {
      const auto file = static_cast<std::uint32_t>(number(1));
      if (number(0) != 0 && file != 0 && is_wanted(number(0), file))
        files.emplace(number(0), file);
    });
  return files;
}

} // namespace

void name_copies(const store::TraceReader& trace, std::vector<FilePath>& paths) {
  Paths copies;
  for (const FilePath& path : paths)
    if (path.shown_path.contains(kCopies))
      copies.emplace(path.file, std::string());
  if (copies.empty())
    return;
  const FileOfOp made = files_by_op(
      trace, "cache_dirty", [&](auto, std::uint32_t file) { return copies.contains(file); });
  const FileOfOp opened =
      files_by_op(trace, "syscall_open", [&](std::uint64_t op, auto) { return made.contains(op); });
  Paths names;
  for (const auto& [op, file] : opened)
    names.emplace(file, std::string());
  for (const FilePath& path : paths)
    if (const auto found = names.find(path.file); found != names.end())
      found->second = path.path();
  for (const auto& [op, file] : opened)
    if (file != made.at(op))
      copies[made.at(op)] = names.at(file);
  for (FilePath& path : paths)
    if (const auto copy = copies.find(path.file); copy != copies.end() && !copy->second.empty()) {
      path.shown_path = copy->second;
      path.is_removed = false;
    }
}

} // namespace iotrail::analysis

// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/file_paths.hpp"

#include <linux/fs.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "abi.h"

namespace iotrail::analysis {

namespace {

constexpr std::uint64_t kNever = UINT64_MAX;

enum class NameEvent : std::uint8_t { sight, open, removal, renaming };

// What one event says about names. Texts are keys of `strings`, files and directories of `files`.
struct NameChange {
  std::uint64_t at_ns;
  NameEvent what;
  bool is_of_vfs; // names lie in `directory` and `new_directory`, else paths begin at descriptors
  std::uint32_t pid;
  std::uint32_t file;
  std::uint32_t replaced;
  std::uint32_t directory;
  std::uint32_t new_directory;
  std::uint32_t text;
  std::uint32_t new_text;
  std::int32_t fd;
  std::int32_t new_fd;
  std::int64_t result;
  std::uint32_t flags;
  std::uint64_t begin_ns;
};

// The numbers of the rows of one table, by the names of its columns; 0: it has no such column.
class TableRows {
public:
  TableRows(const store::TraceReader& trace, const store::TableInfo& table,
            std::initializer_list<std::string_view> names)
      : trace_(trace), table_(table) {
    for (const std::string_view name : names)
      columns_.push_back(table.column(name));
  }

  // Calls `row(number, text)`, which take the place of a column among the names.
  template <class Row> void for_each(Row row) const {
    std::vector<int> wanted;
    std::ranges::copy_if(columns_, std::back_inserter(wanted), [](int c) { return c >= 0; });
    for (const store::BlockInfo& block : trace_.blocks()) {
      if (block.kind != table_.kind)
        continue;
      const auto read = trace_.read(block, wanted);
      if (!read)
        continue;
      for (std::size_t i = 0; i < block.rows; ++i)
        row([&](std::size_t at) { return number(*read, at, i); },
            [&](std::size_t at) { return text(*read, at, i); });
    }
  }

private:
  template <class Columns>
  std::uint64_t number(const Columns& columns, std::size_t at, std::size_t row) const {
    if (columns_[at] < 0)
      return 0;
    const auto* found =
        std::get_if<store::Numbers>(&columns[static_cast<std::size_t>(columns_[at])]);
    return found ? (*found)[row] : 0;
  }
  template <class Columns>
  std::string text(const Columns& columns, std::size_t at, std::size_t row) const {
    if (columns_[at] < 0)
      return {};
    const auto* found = std::get_if<store::Texts>(&columns[static_cast<std::size_t>(columns_[at])]);
    return found ? std::string((*found)[row]) : std::string{};
  }

  const store::TraceReader& trace_;
  const store::TableInfo& table_;
  std::vector<int> columns_;
};

std::string joined(const std::string& directory, const std::string& name) {
  std::string path = (std::filesystem::path(directory) / name).lexically_normal().native();
  if (path.size() > 1 && path.ends_with('/'))
    path.pop_back();
  return path;
}

bool is_whole(const std::string& path) {
  return path.starts_with('/');
}

class Finder {
public:
  explicit Finder(const store::TraceReader& trace) : trace_(trace) {}

  std::vector<FilePath> find() {
    load_files();
    if (load_changes()) {
      load_dictionaries();
      load_sights();
      std::ranges::stable_sort(changes_, {},
                               [](const NameChange& c) { return std::pair(c.at_ns, c.what); });
      for (const NameChange& change : changes_)
        if (paths_.size() < kMostPaths)
          apply(change);
    }
    std::ranges::stable_sort(paths_, {}, &FilePath::file);
    return std::move(paths_);
  }

private:
  void load_files() {
    const store::TableInfo* table = trace_.table("files");
    if (!table)
      return;
    TableRows(trace_, *table, {"file", "path"}).for_each([&](auto number, auto text) {
      const auto file = static_cast<std::uint32_t>(number(0));
      if (last_of_.contains(file))
        return;
      last_of_[file] = paths_.size();
      paths_.push_back({file, 0, kNever, text(1), false});
    });
  }

  // The changes of the lowest layer that has any.
  bool load_lowest(std::string_view event, NameEvent what) {
    for (const std::string_view layer : {"vfs", "syscall", "app"})
      if (load_events(fmt::format("{}_{}", layer, event), what, layer == "vfs"))
        return true;
    return false;
  }

  bool load_changes() {
    const bool has_renames = load_lowest("rename", NameEvent::renaming);
    const bool has_removals = load_lowest("unlink", NameEvent::removal);
    if (!has_renames && !has_removals)
      return false;
    for (const std::string_view event : {"syscall_open", "app_open"})
      load_events(event, NameEvent::open, false);
    return true;
  }

  bool load_events(std::string_view name, NameEvent what, bool is_of_vfs) {
    const store::TableInfo* table = trace_.table(name);
    if (!table || !trace_.has_rows(table->kind))
      return false;
    const TableRows rows(trace_, *table,
                         {"ts_ns", "duration_ns", "pid", "result", "file", "replaced", "directory",
                          "new_directory", is_of_vfs ? "name" : "path",
                          is_of_vfs ? "new_name" : "new_path", "fd", "new_fd", "flags"});
    rows.for_each([&](auto number, auto) {
      const auto small = [&](std::size_t at) { return static_cast<std::uint32_t>(number(at)); };
      const auto result = static_cast<std::int64_t>(number(3));
      if (result < 0)
        return;
      changes_.push_back({number(0) + number(1), what, is_of_vfs, small(2), small(4), small(5),
                          small(6), small(7), small(8), small(9),
                          static_cast<std::int32_t>(number(10)),
                          static_cast<std::int32_t>(number(11)), result, small(12), number(0)});
    });
    return true;
  }

  void load_dictionaries() {
    if (const store::TableInfo* table = trace_.table("strings"))
      TableRows(trace_, *table, {"string", "text"}).for_each([&](auto number, auto text) {
        texts_[number(0)] = text(1);
      });
    if (const store::TableInfo* table = trace_.table("processes"))
      TableRows(trace_, *table, {"pid", "parent_pid"}).for_each([&](auto number, auto) {
        parents_[static_cast<std::uint32_t>(number(0))] = static_cast<std::uint32_t>(number(1));
      });
  }

  // The end of the first event of each file: by then its path was read.
  void load_sights() {
    std::unordered_map<std::uint32_t, std::uint64_t> firsts;
    for (const store::TableInfo& table : trace_.tables()) {
      if (table.is_dictionary())
        continue;
      for (const store::ColumnInfo& column : table.columns)
        if (column.meaning == schema::Meaning::file)
          TableRows(trace_, table, {"ts_ns", "duration_ns", column.name})
              .for_each([&](auto number, auto) {
                const std::uint64_t end_ns = number(0) + number(1);
                auto& first =
                    firsts.try_emplace(static_cast<std::uint32_t>(number(2)), end_ns).first->second;
                first = std::min(first, end_ns);
              });
    }
    for (const auto& [file, end_ns] : firsts)
      if (last_of_.contains(file)) {
        NameChange sight{};
        sight.at_ns = end_ns;
        sight.what = NameEvent::sight;
        sight.file = file;
        changes_.push_back(sight);
      }
  }

  void apply(const NameChange& change) {
    now_ns_ = change.at_ns;
    switch (change.what) {
    case NameEvent::sight:
      if (const FilePath& last = paths_[last_of_.at(change.file)]; is_whole(last.path))
        files_at_.emplace(last.path, change.file);
      return;
    case NameEvent::open:
      return note_open(change);
    case NameEvent::removal:
      return remove_at(old_path(change), change.file);
    case NameEvent::renaming:
      return rename(change);
    }
  }

  std::string text(std::uint32_t key) const {
    const auto found = texts_.find(key);
    return found == texts_.end() ? std::string() : found->second;
  }

  std::string path_of(std::uint32_t file) const {
    const auto found = last_of_.find(file);
    return found == last_of_.end() ? std::string() : paths_[found->second].path;
  }

  // Empty: where it begins is not known. Calls without a descriptor (-1) begin at the current directory.
  std::string whole(std::uint32_t pid, std::int32_t given_fd, std::uint32_t key) const {
    const std::int32_t fd = given_fd == -1 ? IOT_AT_FDCWD : given_fd;
    const std::string given = text(key);
    if (given.empty() || is_whole(given))
      return given.empty() ? given : joined("/", given);
    std::uint32_t process = pid;
    for (int ancestors = 0; ancestors < 64; ++ancestors) {
      if (const auto found = directories_.find({process, fd}); found != directories_.end())
        return joined(found->second, given);
      const auto parent = parents_.find(process);
      if (fd != IOT_AT_FDCWD || parent == parents_.end())
        break;
      process = parent->second;
    }
    return {};
  }

  std::string old_path(const NameChange& change) const {
    if (!change.is_of_vfs)
      return whole(change.pid, change.fd, change.text);
    const std::string directory = path_of(change.directory);
    return is_whole(directory) ? joined(directory, text(change.text)) : std::string();
  }

  std::string new_path(const NameChange& change) const {
    if (!change.is_of_vfs)
      return whole(change.pid, change.new_fd, change.new_text);
    const std::string directory = path_of(change.new_directory);
    return is_whole(directory) ? joined(directory, text(change.new_text)) : std::string();
  }

  // Where relative paths begin at; and a file without a name that a path leads to has one again: an inode is used again
  // with nothing that tells the two files apart.
  void note_open(const NameChange& open) {
    const std::string path = path_of(open.file);
    if (!is_whole(path))
      return;
    const std::string given = text(open.text);
    if ((open.fd == IOT_AT_FDCWD || open.fd == -1) && !given.empty() && !is_whole(given)) {
      const std::string ending = joined("/", given);
      if (path.size() > ending.size() && path.ends_with(ending))
        directories_[{open.pid, IOT_AT_FDCWD}] = path.substr(0, path.size() - ending.size());
    }
    directories_[{open.pid, static_cast<std::int32_t>(open.result)}] = path;
    const std::string name = whole(open.pid, open.fd, open.text);
    if (paths_[last_of_.at(open.file)].is_removed && !name.empty() && !name.starts_with("/proc/"))
      give(open.file, open.begin_ns, name, false);
  }

  void give(std::uint32_t file, std::uint64_t since_ns, const std::string& path, bool is_removed) {
    FilePath& last = paths_[last_of_.at(file)];
    last.until_ns = std::max(since_ns, last.since_ns);
    const std::uint64_t begin_ns = last.until_ns;
    last_of_[file] = paths_.size();
    paths_.push_back({file, begin_ns, kNever, path, is_removed});
    if (!is_removed)
      files_at_.emplace(path, file);
  }

  std::vector<std::uint32_t> take_at(const std::string& path, std::uint32_t only) {
    std::vector<std::uint32_t> files;
    auto [next, end] = files_at_.equal_range(path);
    while (next != end)
      if (only == 0 || next->second == only) {
        files.push_back(next->second);
        next = files_at_.erase(next);
      } else {
        ++next;
      }
    return files;
  }

  void remove_at(const std::string& path, std::uint32_t only) {
    for (const std::uint32_t file : take_at(path, only))
      give(file, now_ns_, path, true);
  }

  // With what lies below: paths and the files that have them.
  std::vector<std::pair<std::string, std::uint32_t>> take_tree(const std::string& path,
                                                               std::uint32_t only) {
    std::vector<std::pair<std::string, std::uint32_t>> taken;
    for (const std::uint32_t file : take_at(path, only))
      taken.emplace_back(path, file);
    const std::string below = path + "/";
    auto next = files_at_.lower_bound(below);
    while (next != files_at_.end() && next->first.starts_with(below)) {
      taken.emplace_back(next->first, next->second);
      next = files_at_.erase(next);
    }
    return taken;
  }

  void put_tree(const std::vector<std::pair<std::string, std::uint32_t>>& tree,
                const std::string& from, const std::string& to) {
    for (const auto& [path, file] : tree)
      if (to.size() + path.size() - from.size() < PATH_MAX && paths_.size() < kMostPaths)
        give(file, now_ns_, to + path.substr(from.size()), false);
  }

  void rename(const NameChange& change);

  const store::TraceReader& trace_;
  std::vector<NameChange> changes_;
  std::vector<FilePath> paths_;
  std::unordered_map<std::uint32_t, std::size_t> last_of_; // place of a file's last path
  std::unordered_map<std::uint64_t, std::string> texts_;
  std::unordered_map<std::uint32_t, std::uint32_t> parents_;
  std::multimap<std::string, std::uint32_t> files_at_; // that have had an event and have the name
  std::map<std::pair<std::uint32_t, std::int32_t>, std::string> directories_; // of pid and fd
  std::uint64_t now_ns_ = 0;
};

void Finder::rename(const NameChange& change) {
  const std::string from = old_path(change);
  const std::string to = new_path(change);
  if (from.empty() || to.empty() || from == to)
    return;
  const auto moved = take_tree(from, change.file);
  if ((change.flags & RENAME_EXCHANGE) != 0)
    put_tree(take_tree(to, change.replaced), to, from);
  else
    remove_at(to, change.replaced);
  put_tree(moved, from, to);
}

} // namespace

std::vector<FilePath> find_file_paths(const store::TraceReader& trace) {
  return Finder(trace).find();
}

} // namespace iotrail::analysis

// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/names/file_paths.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "abi.h"
#include "analysis/names/copied_up.hpp"
#include "analysis/names/directory_links.hpp"
#include "analysis/names/known_names.hpp"
#include "analysis/names/name_changes.hpp"
#include "analysis/names/path_text.hpp"
#include "analysis/names/table_rows.hpp"

namespace iotrail::analysis {

namespace {

constexpr std::uint64_t kNever = UINT64_MAX;
constexpr std::size_t kNodeBytes = 128; // of a known name or descriptor, in addition to its text

class Finder {
public:
  Finder(const store::TraceReader& trace, std::size_t most_bytes)
      : trace_(trace), bytes_left_(most_bytes), places_(are_moves_recorded(trace)) {}

  TraceNames find() {
    load_files();
    NameChanges changes(trace_);
    if (changes.any()) {
      load_texts();
      while (const auto change = changes.next()) {
        apply(*change);
        if (bytes_left_ == 0) {
          tell_limit(change->at_ns);
          break;
        }
      }
    }
    std::ranges::stable_sort(paths_, {}, &FilePath::file);
    for (std::size_t i = 1; i < paths_.size(); ++i)
      if (paths_[i].file == paths_[i - 1].file)
        paths_[i - 1].until_ns = paths_[i].since_ns;
    return {std::move(paths_), places_.all_directories()};
  }

private:
  struct File {
    std::size_t last; // index of its last path
    bool is_directory;
    bool is_nameless; // deleted before, or by O_TMPFILE: named by its number until it is linked
    std::uint32_t container = 0;    // container of its first event: only paths in it are its names
    std::uint64_t seen_ns = kNever; // the end of that event
  };

  void load_files();
  void load_texts();
  void tell_limit(std::uint64_t at_ns) const;
  void apply(const NameChange& change);
  void note_sight(const NameChange& sight);
  void note_open(const NameChange& open);
  void note_duplicate(const NameChange& duplicate);
  void change_root(const NameChange& change);
  void change_directory(const NameChange& change);
  void link(const NameChange& change);
  void rename(const NameChange& change);
  void remove_at(KnownNames& names, const std::string& path, std::uint32_t only,
                 std::uint64_t at_ns);
  void put_tree(KnownNames& names, const std::vector<KnownName>& tree, const std::string& from,
                const std::string& to, std::uint64_t at_ns);
  void give(std::uint32_t file, std::uint64_t since_ns, const std::string& path, bool is_removed);

  // Work and memory grow with the bytes spent.
  void spend(std::size_t bytes) { bytes_left_ -= std::min(bytes_left_, bytes); }

  std::string_view text(std::uint32_t key) const {
    const auto found = texts_.find(key);
    return found == texts_.end() ? std::string_view{} : found->second;
  }
  std::string_view path_of(std::uint32_t file) const {
    const auto found = files_.find(file);
    return found == files_.end() ? std::string_view{} : paths_[found->second.last].path();
  }
  std::uint32_t file_at(std::uint32_t pid, std::int32_t fd) const {
    const auto found = descriptors_.find({pid, fd});
    return found == descriptors_.end() ? 0 : found->second;
  }

  std::string_view current_directory(std::uint32_t pid) const; // empty: unknown
  // Empty: the start directory is unknown. As given: does not follow links to directories in the
  // path.
  std::string whole_as_given(std::uint32_t pid, std::int32_t fd, std::uint32_t key) const;
  std::string whole(std::uint32_t pid, std::int32_t fd, std::uint32_t key) const {
    return links_.follow(whole_as_given(pid, fd, key));
  }
  KnownNames& names_of(std::uint32_t file) { return names_[files_.at(file).container]; }
  std::string named(std::uint32_t directory, std::uint32_t key) const {
    const std::string_view path = path_of(directory);
    return is_whole(path) ? joined(path, text(key)) : std::string();
  }
  std::string old_path(const NameChange& change) const {
    return change.is_of_vfs ? named(change.directory, change.text)
                            : whole(change.pid, change.fd, change.text);
  }
  std::string new_path(const NameChange& change) const {
    return change.is_of_vfs ? named(change.new_directory, change.new_text)
                            : whole(change.pid, change.new_fd, change.new_text);
  }
  // The names that a call changes: those of the only file in its event, or of its container.
  KnownNames& names_for(const NameChange& change, std::uint32_t only) {
    const auto found = files_.find(only);
    return names_[found != files_.end() ? found->second.container
                                        : places_.container_of(change.pid)];
  }
  // All files with the name, or the only one in the event.
  static std::vector<std::uint32_t> files_named(const KnownNames& names, const std::string& path,
                                                std::uint32_t only) {
    return only == 0 ? names.files_at(path) : std::vector<std::uint32_t>{only};
  }
  std::vector<std::uint32_t> linked_files(const NameChange& change);

  const store::TraceReader& trace_;
  std::size_t bytes_left_;
  std::vector<FilePath> paths_;
  std::unordered_map<std::uint32_t, File> files_;
  std::unordered_map<std::uint32_t, std::string> texts_;
  std::map<std::uint32_t, KnownNames> names_; // of files that have had an event, by container
  ProcessPlaces places_;
  DirectoryLinks links_;
  // By pid and fd: directories, and files without a name.
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> descriptors_;
};

void Finder::load_files() {
  const store::TableInfo* table = trace_.table("files");
  if (!table)
    return;
  TableRows(trace_, *table, {"file", "path", "mode", "inode", "is_deleted"})
      .for_each([&](auto number, auto read_text) {
        const auto file = static_cast<std::uint32_t>(number(0));
        if (files_.contains(file))
          return;
        std::string path = read_text(1);
        const bool is_nameless = number(4) != 0 || path.ends_with(fmt::format("/#{}", number(3)));
        files_[file] = {
            .last = paths_.size(), .is_directory = S_ISDIR(number(2)), .is_nameless = is_nameless};
        if (is_nameless)
          path += kDeleted;
        paths_.push_back({file, is_nameless, 0, kNever, std::move(path)});
      });
}

void Finder::load_texts() {
  if (const store::TableInfo* table = trace_.table("strings"))
    TableRows(trace_, *table, {"string", "text"}).for_each([&](auto number, auto read_text) {
      std::string text = read_text(1);
      if (text.size() >= PATH_MAX || bytes_left_ == 0)
        return;
      spend(kNodeBytes + text.size());
      texts_[static_cast<std::uint32_t>(number(0))] = std::move(text);
    });
}

void Finder::tell_limit(std::uint64_t at_ns) const {
  const std::uint64_t begin_ns = trace_.manifest().begin_ns;
  trace_.add_limit(fmt::format("PATHS AS OF SECOND {:.6f}: what was renamed, linked or removed "
                               "after that is shown with the path of then, since "
                               "following it would need too much memory.",
                               static_cast<double>(at_ns - std::min(at_ns, begin_ns)) / 1e9));
}

void Finder::apply(const NameChange& change) {
  switch (change.what) {
  case NameEvent::birth:
    return spend(places_.add(change.pid, change.parent_pid, change.container, change.at_ns));
  case NameEvent::sight:
    return note_sight(change);
  case NameEvent::open:
    return note_open(change);
  case NameEvent::duplicate:
    return note_duplicate(change);
  case NameEvent::directory:
    return change_directory(change);
  case NameEvent::root:
    return change_root(change);
  case NameEvent::link:
    return link(change);
  case NameEvent::removal:
    return remove_at(names_for(change, change.file), old_path(change), change.file, change.at_ns);
  case NameEvent::renaming:
    return rename(change);
  }
}

// A damaged trace may have an event of an unknown file.
void Finder::note_sight(const NameChange& sight) {
  const auto found = files_.find(sight.file);
  if (found == files_.end())
    return;
  File& file = found->second;
  file.seen_ns = sight.at_ns;
  file.container = places_.container_of(sight.pid);
  if (const std::string_view path = path_of(sight.file); is_whole(path) && !file.is_nameless)
    names_of(sight.file).note(std::string(path), sight.file);
}

// Calls without a descriptor (-1) start at the current directory.
std::string Finder::whole_as_given(std::uint32_t pid, std::int32_t fd, std::uint32_t key) const {
  const std::string_view given = text(key);
  if (is_whole(given)) {
    const std::string_view root = places_.root_of(pid);
    return root == "/" ? joined(root, given) : joined(root, "./" + std::string(given));
  }
  const std::string_view directory =
      fd == IOT_AT_FDCWD || fd == -1 ? current_directory(pid) : path_of(file_at(pid, fd));
  return is_whole(directory) ? joined(directory, given) : std::string();
}

std::string_view Finder::current_directory(std::uint32_t pid) const {
  const CurrentDirectory* directory = places_.directory_of(pid);
  if (!directory)
    return {};
  const std::string_view path_now = path_of(directory->file);
  return is_whole(path_now) ? path_now : directory->path;
}

void Finder::note_duplicate(const NameChange& duplicate) {
  const std::uint32_t file = file_at(duplicate.pid, duplicate.fd);
  const auto made = std::pair(duplicate.pid, static_cast<std::int32_t>(duplicate.result));
  if (file == 0)
    bytes_left_ += descriptors_.erase(made) * kNodeBytes;
  else if (descriptors_.insert_or_assign(made, file).second)
    spend(kNodeBytes);
}

void Finder::change_root(const NameChange& change) {
  const std::string root = whole(change.pid, IOT_AT_FDCWD, change.text);
  if (!root.empty())
    spend(places_.set_root(change.pid, root));
}

void Finder::change_directory(const NameChange& change) {
  const std::string_view opened = path_of(change.file);
  const bool is_open = is_whole(opened);
  spend(places_.set_directory(
      {.pid = change.pid,
       .since_ns = change.at_ns,
       .path = is_open ? std::string(opened) : whole(change.pid, IOT_AT_FDCWD, change.text),
       .file = is_open ? change.file : 0}));
}

// An open shows the start directory of relative paths and the name in use. If its path leads to a
// file without a name, the file has a name again. Its inode number was reused, and nothing else
// separates the two files.
void Finder::note_open(const NameChange& open) {
  if (!is_whole(path_of(open.file)))
    return;
  const std::string path(path_of(open.file));
  const File& file = files_.at(open.file);
  const std::string_view given = text(open.text);
  if ((open.fd == IOT_AT_FDCWD || open.fd == -1) && !given.starts_with('/') && !file.is_nameless)
    spend(places_.learn_directory(open.pid, given, path, open.begin_ns));
  const auto opened = std::pair(open.pid, static_cast<std::int32_t>(open.result));
  if (!file.is_directory && !file.is_nameless)
    bytes_left_ += descriptors_.erase(opened) * kNodeBytes;
  else if (descriptors_.insert_or_assign(opened, open.file).second)
    spend(kNodeBytes);
  const std::string as_given = whole_as_given(open.pid, open.fd, open.text);
  if (as_given.empty() || as_given.starts_with("/proc/") || file.is_nameless ||
      file.container != places_.container_of(open.pid))
    return;
  if (file.seen_ns == open.at_ns)
    spend(links_.learn(as_given, path));
  const std::string name = links_.follow(as_given);
  const FilePath& last = paths_[file.last];
  KnownNames& names = names_of(open.file);
  if (last.is_removed || names.has(name, open.file)) {
    names.note(name, open.file);
    if (last.is_removed || last.path() != name)
      give(open.file, open.begin_ns, name, false);
  }
}

void Finder::give(std::uint32_t file, std::uint64_t since_ns, const std::string& path,
                  bool is_removed) {
  std::size_t& place = files_.at(file).last;
  FilePath& last = paths_[place];
  FilePath next{file, is_removed, std::max(since_ns, last.since_ns), kNever,
                is_removed ? path + std::string(kDeleted) : path};
  spend(sizeof(FilePath) + next.shown_path.size());
  if (next.since_ns == last.since_ns) { // that one was valid at no time
    last = std::move(next);
    return;
  }
  place = paths_.size();
  paths_.push_back(std::move(next));
}

void Finder::remove_at(KnownNames& names, const std::string& path, std::uint32_t only,
                       std::uint64_t at_ns) {
  if (path.empty())
    return;
  links_.forget(path);
  for (const std::uint32_t file : files_named(names, path, only)) {
    if (!names.remove(path, file) || path_of(file) != path)
      continue;
    const std::string* other = names.latest(file);
    give(file, at_ns, other ? *other : path, !other);
  }
}

std::vector<std::uint32_t> Finder::linked_files(const NameChange& change) {
  if (change.is_of_vfs)
    return {change.file};
  const std::string_view given = text(change.text);
  const bool is_descriptor = given.empty() && (change.flags & AT_EMPTY_PATH) != 0;
  const std::int32_t fd = is_descriptor ? change.fd : descriptor_of(given, change.pid);
  if (fd >= 0)
    return {file_at(change.pid, fd)};
  const std::string path = old_path(change);
  return path.empty() ? std::vector<std::uint32_t>{} : names_for(change, 0).files_at(path);
}

void Finder::link(const NameChange& change) {
  const std::string path = new_path(change);
  if (path.empty())
    return;
  for (const std::uint32_t file : linked_files(change)) {
    spend(kNodeBytes + path.size());
    const auto found = files_.find(file);
    if (found == files_.end())
      continue;
    const bool has_none = paths_[found->second.last].is_removed || found->second.is_nameless;
    KnownNames& names = names_of(file);
    if (!has_none && !names.latest(file))
      continue; // it has no event yet
    names.note(path, file);
    found->second.is_nameless = false;
    if (has_none)
      give(file, change.at_ns, path, false);
  }
}

void Finder::put_tree(KnownNames& names, const std::vector<KnownName>& tree,
                      const std::string& from, const std::string& to, std::uint64_t at_ns) {
  for (const auto& [path, file, rank] : tree) {
    spend(kNodeBytes + path.size());
    if (bytes_left_ == 0)
      return;
    if (to.size() + path.size() - from.size() >= PATH_MAX)
      continue;
    const std::string moved = to + path.substr(from.size());
    names.put(moved, file, rank);
    if (path_of(file) == path)
      give(file, at_ns, moved, false);
  }
}

void Finder::rename(const NameChange& change) {
  const std::string from = old_path(change);
  const std::string to = new_path(change);
  if (from.empty() || to.empty() || from == to)
    return;
  const bool exchanges = (change.flags & RENAME_EXCHANGE) != 0;
  KnownNames& names = names_for(change, change.file);
  const std::vector<std::uint32_t> files = files_named(names, from, change.file);
  if (!exchanges &&
      std::ranges::any_of(files, [&](std::uint32_t file) { return names.has(to, file); }))
    return spend(files.size() * kNodeBytes); // two names of one file: rename leaves both
  links_.forget(from);
  const std::vector<KnownName> moved = names.take_tree(from, change.file);
  if (exchanges)
    put_tree(names, names.take_tree(to, change.replaced), to, from, change.at_ns);
  else
    remove_at(names, to, change.replaced, change.at_ns);
  put_tree(names, moved, from, to, change.at_ns);
}

} // namespace

TraceNames find_names(const store::TraceReader& trace, std::size_t most_bytes) {
  TraceNames names = Finder(trace, most_bytes).find();
  name_copies(trace, names.paths);
  return names;
}

} // namespace iotrail::analysis

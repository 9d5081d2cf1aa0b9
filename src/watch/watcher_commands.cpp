// SPDX-License-Identifier: BSD-3-Clause
//
// The commands of a watcher, called from other threads than the one that drives it.
#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/nearest_name.hpp"
#include "watch/watcher.hpp"

namespace iotrail::watch {
namespace {

bool contains(const std::vector<std::string>& paths, const std::string& path) {
  return std::ranges::find(paths, path) != paths.end();
}

std::unexpected<Error> not_watched(const std::string& name) {
  return fail(name, "it is not watched", "`iotrail watch list` lists the watched files.");
}

// Names that were added and are others now.
void set_present_paths(const WatchedFile& file, LogState& state) {
  std::vector<std::string> present;
  for (const std::string& path : state.paths)
    if (std::string now = present_path(file, path); !contains(present, now))
      present.push_back(std::move(now));
  state.paths = std::move(present);
}

} // namespace

// The file that has this path now; done without a lock, since its file system may hang.
Watcher::Named Watcher::named(const std::string& name) {
  const auto file = find_file(name);
  return {.name = name, .key = file ? std::optional(file->key) : std::nullopt};
}

Watcher::Watched* Watcher::find_locked(const Named& named) {
  const auto is_named = [&](const Watched& w) {
    return w.file.name() == named.name || contains(w.paths, named.name);
  };
  const auto found = std::ranges::find_if(files_, is_named);
  if (found != files_.end())
    return &*found;
  return named.key ? find_locked(*named.key) : nullptr;
}

bool Watcher::has(const std::string& name) {
  const std::lock_guard lock(state_);
  return std::ranges::any_of(files_, [&](const Watched& w) { return w.file.name() == name; });
}

Watcher::Watched* Watcher::find_locked(const FileKey& key) {
  const auto found = std::ranges::find(files_, key, [](const Watched& w) { return w.file.key; });
  return found == files_.end() ? nullptr : &*found;
}

Result<std::string> Watcher::add(const std::string& path, std::size_t most) {
  auto names = add(std::vector{path}, most);
  return names ? Result<std::string>(std::move(names->front())) : std::unexpected(names.error());
}

Result<std::vector<std::string>> Watcher::add(const std::vector<std::string>& paths,
                                              std::size_t most) {
  if (most > kEntriesMost)
    return fail_usage(fmt::format("{} entries", most),
                      fmt::format("a log has at most {}", kEntriesMost));
  std::vector<WatchedFile> asked;
  for (const std::string& path : paths) {
    auto file = find_file(path);
    if (!file)
      return std::unexpected(file.error());
    asked.push_back(std::move(*file));
  }
  const std::lock_guard changing(changing_);
  std::vector<WatchedFile> files = known_files();
  const std::size_t known = files.size();
  for (const WatchedFile& file : asked) {
    if (std::ranges::find(files, file.key, &WatchedFile::key) != files.end())
      continue;
    if (files.size() >= kFilesMost)
      return fail(file.path, fmt::format("{} files are watched, and no more can be", kFilesMost),
                  "Remove one first: iotrail watch remove PATH");
    files.push_back(file);
  }
  if (files.size() > known)
    if (Result<void> recorded = on_driver([&] { return record(files); }); !recorded)
      return std::unexpected(recorded.error());
  const std::uint64_t now_ns = monotonic_ns();
  const std::lock_guard lock(state_);
  std::vector<std::string> names;
  for (WatchedFile& file : asked) {
    Watched* watched = find_locked(file.key);
    if (watched == nullptr)
      watched = &files_.emplace_back(file, std::vector<std::string>(),
                                     FileLog(most == 0 ? entries_most_ : most, now_ns));
    if (!contains(watched->paths, file.path))
      watched->paths.push_back(std::move(file.path));
    names.push_back(watched->file.name());
  }
  return names;
}

Result<void> Watcher::remove(const std::string& path) {
  const Named file = named(path);
  const std::lock_guard changing(changing_);
  std::vector<WatchedFile> files;
  {
    const std::lock_guard lock(state_);
    Watched* watched = find_locked(file);
    if (watched == nullptr)
      return not_watched(path);
    // Another name than those that were added stands for the file: all of its names go.
    if (std::erase(watched->paths, path) != 0 && !watched->paths.empty())
      return {};
    const FileKey key = watched->file.key;
    std::erase_if(files_, [&](const Watched& w) { return w.file.key == key; });
    files = files_locked();
  }
  return on_driver([&] { return record(files); });
}

Result<void> Watcher::command(const std::string& name, LogCommand command) {
  const Named file = named(name);
  const std::lock_guard lock(state_);
  Watched* watched = find_locked(file);
  if (watched == nullptr)
    return not_watched(name);
  const std::uint64_t now_ns = monotonic_ns();
  switch (command) {
  case LogCommand::start:
    watched->log.start(now_ns);
    break;
  case LogCommand::stop:
    watched->log.stop(now_ns);
    break;
  case LogCommand::reset:
    watched->log.reset(now_ns);
    break;
  case LogCommand::reset_time:
    watched->log.reset_time(now_ns);
    break;
  }
  return {};
}

Result<LogCopy> Watcher::log(const std::string& name) {
  const Named file = named(name);
  const std::lock_guard reading(reading_);
  if (Result<void> read = read_current(); !read)
    return std::unexpected(read.error());
  const std::lock_guard lock(state_);
  const Watched* watched = find_locked(file);
  if (watched == nullptr)
    return not_watched(name);
  return LogCopy{.zero_ns = watched->log.zero_ns(),
                 .entries = watched->log.all(),
                 .lost = status_.lost + lost_now_,
                 .failure = status_.failure};
}

LogState Watcher::state_of(const Watched& watched) {
  return {.name = watched.file.name(),
          .paths = watched.paths,
          .is_enabled = watched.log.is_enabled(),
          .zero_ns = watched.log.zero_ns(),
          .most = watched.log.most(),
          .entries = watched.log.entries()};
}

Result<LogState> Watcher::state(const std::string& name) {
  const Named file = named(name);
  const std::lock_guard reading(reading_);
  if (Result<void> read = read_current(); !read)
    return std::unexpected(read.error());
  const std::lock_guard lock(state_);
  const Watched* watched = find_locked(file);
  if (watched == nullptr)
    return not_watched(name);
  return state_of(*watched);
}

Result<std::vector<LogState>> Watcher::list(bool with_entries) {
  if (with_entries) {
    const std::lock_guard reading(reading_);
    if (Result<void> read = read_current(); !read)
      return std::unexpected(read.error());
  }
  std::vector<LogState> states;
  std::vector<WatchedFile> files;
  {
    const std::lock_guard lock(state_);
    for (const Watched& watched : files_)
      states.push_back(state_of(watched));
    files = files_locked();
  }
  for (std::size_t i = 0; i < states.size(); ++i) // without a lock: a file system may hang
    set_present_paths(files[i], states[i]);
  return states;
}

Result<WatchStatus> Watcher::status() {
  if (const auto flushed = flush_current(); !flushed)
    return std::unexpected(flushed.error());
  const std::lock_guard lock(state_);
  WatchStatus status = status_;
  status.files = files_.size();
  status.lost += lost_now_;
  return status;
}

} // namespace iotrail::watch

// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/spill/spill_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

namespace iotrail::analysis {

namespace {

constexpr std::string_view kSpillPrefix = "iotrail-spill-";

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// Without "." and "..".
std::vector<std::string> names_below(const Fd& directory, std::string_view prefix) {
  std::vector<std::string> names;
  Fd copy(::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, CloseDirectory> entries(copy ? ::fdopendir(copy.get()) : nullptr);
  if (!entries)
    return names;
  copy.release();
  while (const dirent* entry = ::readdir(entries.get()))
    if (const std::string_view name = entry->d_name;
        name.starts_with(prefix) && name != "." && name != "..")
      names.emplace_back(name);
  return names;
}

bool is_of_this_user_alone(const Fd& directory) {
  struct stat status{};
  return ::fstat(directory.get(), &status) == 0 && status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

// The engine makes only files in it. Never follows a link, and removes by descriptor: whatever takes
// the directory's name meanwhile stays.
void remove_if_left(const Fd& parent, const std::string& name) {
  const Fd directory(
      ::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory || !is_of_this_user_alone(directory) ||
      ::flock(directory.get(), LOCK_EX | LOCK_NB) != 0)
    return;
  for (const std::string& file : names_below(directory, ""))
    ::unlinkat(directory.get(), file.c_str(), 0);
  ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR);
}

// False: another process, which saw it before it was locked, has removed it.
bool has_name(const Fd& directory, const std::string& path) {
  struct stat held{};
  struct stat named{};
  return ::fstat(directory.get(), &held) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

} // namespace

SpillDirectory::SpillDirectory(const std::filesystem::path& parent,
                               const store::TemporaryFiles& files) {
  constexpr int kTries = 8;
  if (const Fd opened(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); opened)
    for (const std::string& name : names_below(opened, kSpillPrefix))
      remove_if_left(opened, name);
  for (int tries = 0; tries < kTries; ++tries) {
    std::string path = (parent / kSpillPrefix).string() + "XXXXXX";
    if (!files.make_tree([&] { return ::mkdtemp(path.data()) == nullptr ? "" : path; }))
      return;
    Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory || ::flock(directory.get(), LOCK_EX | LOCK_NB) != 0 ||
        !has_name(directory, path))
      continue;
    path_ = std::move(path);
    lock_ = std::move(directory);
    return;
  }
}

} // namespace iotrail::analysis

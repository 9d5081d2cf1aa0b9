// SPDX-License-Identifier: BSD-3-Clause
#include "capture/snapshot/files/open_directories.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace iotrail::capture::snapshot {
namespace {

// Opening a directory must not change its access time, if we have that permission.
Fd open_below(int parent, const char* name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  Fd fd(::openat(parent, name, kFlags | O_NOATIME));
  return fd || errno != EPERM ? std::move(fd) : Fd(::openat(parent, name, kFlags));
}

} // namespace

// Destroys one after another: recursion over the parents of a deep directory would need a deep
// stack.
Directory::~Directory() {
  while (parent && parent.use_count() == 1)
    parent = std::exchange(parent->parent, nullptr);
}

std::string Directory::path() const {
  std::vector<const Directory*> way;
  for (const Directory* directory = this; directory; directory = directory->parent.get())
    way.push_back(directory);
  std::string path = way.back()->name;
  way.pop_back();
  for (; !way.empty(); way.pop_back()) {
    if (!path.ends_with('/'))
      path += '/';
    path += way.back()->name;
  }
  return path;
}

int OpenDirectories::open(const std::shared_ptr<Directory>& directory) {
  std::vector<std::shared_ptr<Directory>> closed;
  std::shared_ptr<Directory> above = directory;
  for (; above && !above->fd; above = above->parent)
    closed.push_back(above);
  int fd = above ? above->fd.get() : AT_FDCWD;
  for (; !closed.empty(); closed.pop_back()) {
    closed.back()->fd = open_below(fd, closed.back()->name.c_str());
    if (!closed.back()->fd)
      return -1;
    fd = closed.back()->fd.get();
    hold(closed.back());
  }
  return fd;
}

// Never closes the one just opened: it stays in use while the limit lasts.
void OpenDirectories::hold(const std::shared_ptr<Directory>& directory) {
  held_.push_back(directory);
  if (held_.size() <= kHeldMost)
    return;
  if (const auto oldest = held_.front().lock())
    oldest->fd.reset();
  held_.pop_front();
}

} // namespace iotrail::capture::snapshot

// SPDX-License-Identifier: BSD-3-Clause
#include "replay/open_handles.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace iotrail::replay {
namespace {

bool allows(std::uint32_t flags, Access access) {
  const std::uint32_t mode = flags & O_ACCMODE;
  return access == Access::any || mode == O_RDWR ||
         mode == (access == Access::writes ? O_WRONLY : O_RDONLY);
}

} // namespace

OpenHandles::OpenHandles(const Plan& plan, const Place& place) : plan_(plan), place_(place) {
  for (const Action& action : plan.actions)
    if (action.file != 0)
      ++uses_left_[action.file];
}

int OpenHandles::open(const Action& action) {
  const std::uint32_t directory = action.is_directory ? O_DIRECTORY : 0;
  const int fd = place_.open_file(plan_.paths[action.path], action.flags | directory);
  if (fd < 0)
    return fd;
  auto shared = std::make_shared<const Fd>(fd);
  if (action.file != 0) {
    const std::lock_guard lock(mutex_);
    handles_[action.file].push_back({std::move(shared), action.pid, action.flags});
  }
  return fd;
}

// The last handle stays for processes that have inherited it, as long as they use the file.
void OpenHandles::close(const Action& action) {
  const std::lock_guard lock(mutex_);
  auto& handles = handles_[action.file];
  const auto found = std::ranges::find(handles.rbegin(), handles.rend(), action.pid, &Handle::pid);
  if (found == handles.rend())
    return;
  if (handles.size() == 1)
    found->pid = 0;
  else
    handles.erase(std::next(found).base());
}

SharedFd OpenHandles::handle(const Action& action, Access access, int& error) {
  const std::unique_lock lock(mutex_);
  auto& handles = handles_[action.file];
  const Handle* best = nullptr;
  for (const Handle& handle : handles)
    if (allows(handle.flags, access) &&
        (best == nullptr || handle.pid == action.pid || best->pid != action.pid))
      best = &handle;
  if (best != nullptr)
    return best->fd;
  const std::string& path = plan_.paths[action.path];
  int fd = place_.open_file(path, action.is_directory ? O_RDONLY | O_DIRECTORY : O_RDWR);
  if (fd == -EACCES && access != Access::writes)
    fd = place_.open_file(path, O_RDONLY);
  if (fd < 0) {
    error = fd;
    return nullptr;
  }
  handles.push_back({std::make_shared<const Fd>(fd), 0,
                     action.is_directory ? static_cast<std::uint32_t>(O_RDONLY) : O_RDWR});
  return handles.back().fd;
}

void OpenHandles::end_use(const Action& action) {
  if (action.file == 0)
    return;
  const std::lock_guard lock(mutex_);
  if (--uses_left_[action.file] == 0)
    handles_.erase(action.file);
}

} // namespace iotrail::replay

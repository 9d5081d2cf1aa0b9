// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/cgroups.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "capture/selection/mounts.hpp"

namespace iotrail::capture {
namespace {

constexpr std::size_t kPathsMost = 1U << 14U;
constexpr std::uint64_t kRootId = 1;
constexpr int kKernfsHandle = 0xfe; // FILEID_KERNFS of linux/exportfs.h: the handle is the id
constexpr std::uint64_t kTryEveryNs = 1'000'000'000;

bool is_cgroup(const std::filesystem::path& directory) {
  struct statfs status{};
  std::error_code ignored;
  return ::statfs(directory.c_str(), &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC &&
         std::filesystem::is_directory(directory, ignored);
}

} // namespace

std::string_view unified_cgroup(std::string_view proc_text) {
  constexpr std::string_view kUnified = "0::";
  while (!proc_text.empty()) {
    const std::string_view line = proc_text.substr(0, proc_text.find('\n'));
    if (line.starts_with(kUnified))
      return line.substr(kUnified.size());
    proc_text.remove_prefix(std::min(line.size() + 1, proc_text.size()));
  }
  return {};
}

Result<std::filesystem::path> find_cgroup(const std::string& path) {
  if (path.starts_with('/') && is_cgroup(path))
    return path;
  std::string hierarchy = "/sys/fs/cgroup";
  for (const Mount& mount : read_mounts())
    if (mount.type == "cgroup2") {
      if (std::filesystem::path below = mount.point + "/" + path; is_cgroup(below))
        return below;
      hierarchy = mount.point;
    }
  return fail("control group " + path, "there is no such group of the version 2 hierarchy",
              fmt::format("`systemd-cgls` shows them; give the path below {}.", hierarchy));
}

std::string Cgroups::path_of(std::uint64_t id) {
  if (id == 0)
    return {};
  if (id == kRootId)
    return "/";
  if (const auto known = paths_.find(id); known != paths_.end())
    return known->second;
  const std::string path = find(id);
  if (path.empty())
    return fmt::format("id {}", id);
  if (paths_.size() >= kPathsMost)
    paths_.clear();
  return paths_[id] = path;
}

bool Cgroups::open_hierarchy() {
  const std::uint64_t now_ns = monotonic_ns();
  if (hierarchy_ || now_ns < next_try_ns_)
    return static_cast<bool>(hierarchy_);
  next_try_ns_ = now_ns + kTryEveryNs;
  const std::vector<Mount> mounts = read_mounts();
  const auto mount = std::ranges::find_if(
      mounts, [](const Mount& found) { return found.type == "cgroup2" && found.root == "/"; });
  if (mount == mounts.end())
    return false;
  mount_point_ = mount->point;
  hierarchy_ = Fd(::open(mount_point_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return static_cast<bool>(hierarchy_);
}

std::string Cgroups::find(std::uint64_t id) {
  if (!open_hierarchy())
    return {};
  alignas(file_handle) std::array<std::byte, sizeof(file_handle) + sizeof id> room{};
  auto* handle = reinterpret_cast<file_handle*>(room.data());
  handle->handle_bytes = sizeof id;
  handle->handle_type = kKernfsHandle;
  std::memcpy(room.data() + sizeof(file_handle), &id, sizeof id);
  const Fd group(::open_by_handle_at(hierarchy_.get(), handle, O_PATH | O_CLOEXEC));
  if (!group)
    return {};
  std::error_code gone;
  const std::string path =
      std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", group.get()), gone).string();
  return path.starts_with(mount_point_ + "/") ? path.substr(mount_point_.size()) : "";
}

} // namespace iotrail::capture

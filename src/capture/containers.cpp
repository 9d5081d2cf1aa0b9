// SPDX-License-Identifier: BSD-3-Clause
#include "capture/containers.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "capture/mounts.hpp"

namespace iotrail::capture {
namespace {

constexpr std::size_t kShownDigits = 12; // of an id, by `docker ps` and `crictl ps`
constexpr std::size_t kIdDigits = 64;

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == text.npos;
}

// Without what systemd calls a group of its own by.
std::string_view without_unit(std::string_view group) {
  for (const std::string_view unit : {".scope", ".service"})
    if (group.ends_with(unit))
      return group.substr(0, group.size() - unit.size());
  return group;
}

// The process that watches a container is in none.
bool is_of_monitor(std::string_view group) {
  return group.contains("conmon") || group.starts_with("lxc.monitor");
}

bool is_id(std::string_view name, std::string_view container) {
  const std::string_view id = name.substr(name.find_last_of('-') + 1);
  return id.size() == kIdDigits && is_hexadecimal(id) && container.size() >= kShownDigits &&
         id.starts_with(container);
}

} // namespace

bool is_group_of_container(std::string_view group, std::string_view container) {
  if (container.empty() || is_of_monitor(group))
    return false;
  const std::string_view name = without_unit(group);
  if (is_id(name, container))
    return true;
  for (const std::string_view runtime : {"lxc.payload.", "machine-"})
    if (name.starts_with(runtime) && name.substr(runtime.size()) == container)
      return true;
  return false;
}

std::vector<std::filesystem::path> groups_of_container(const std::filesystem::path& hierarchy,
                                                       std::string_view container) {
  std::vector<std::filesystem::path> groups;
  std::error_code code;
  constexpr auto kOptions = std::filesystem::directory_options::skip_permission_denied;
  std::filesystem::recursive_directory_iterator at(hierarchy, kOptions, code);
  for (; !code && at != std::filesystem::recursive_directory_iterator(); at.increment(code)) {
    if (std::error_code ignored; !at->is_directory(ignored) || at->is_symlink(ignored))
      continue;
    if (!is_group_of_container(at->path().filename().native(), container))
      continue;
    groups.push_back(at->path());
    at.disable_recursion_pending();
  }
  std::ranges::sort(groups);
  return groups;
}

Result<std::filesystem::path> find_container(const std::string& container) {
  std::vector<std::filesystem::path> groups;
  for (const Mount& mount : read_mounts())
    if (mount.type == "cgroup2" && groups.empty())
      groups = groups_of_container(mount.point, container);
  if (groups.size() == 1)
    return groups.front();
  const std::string what = "container " + container;
  if (groups.empty())
    return fail(what, "no control group is named after it",
                "Give the id that `docker ps`, `podman ps` or `crictl ps` shows (12 digits or "
                "more), or the name of an LXC or nspawn container; --cgroup takes any control "
                "group.");
  return fail(what,
              fmt::format("several control groups are named after it: {}, {}", groups[0].native(),
                          groups[1].native()),
              "Give more digits of its id, or name one of them with --cgroup.");
}

} // namespace iotrail::capture

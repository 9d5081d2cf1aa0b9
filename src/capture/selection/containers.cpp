// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/containers.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "capture/selection/mounts.hpp"

namespace iotrail::capture {
namespace {

constexpr std::size_t kShownDigits = 12; // of an id, as in `docker ps` and `crictl ps`
constexpr std::size_t kIdDigits = 64;
constexpr std::size_t kNamedMost = 8; // containers, in a message

// Names of control groups in each runtime; the first match counts. An id needs no row of its own:
// its length identifies it, after any runtime's prefix.
struct Form {
  std::string_view parent; // name of the group above; empty: any
  std::string_view begin;  // prefix of the group's name, without `.scope` or `.service`
  enum class Rest : std::uint8_t {
    is_name,       // of the container
    is_unit_name,  // the same, with what systemd does not allow there as \x2d
    is_of_monitor, // the process that monitors a container is in none
  } rest;
};
constexpr Form kForms[] = {
    {"", "libpod-conmon-", Form::Rest::is_of_monitor},
    {"", "crio-conmon-", Form::Rest::is_of_monitor},
    {"", "lxc.monitor.", Form::Rest::is_of_monitor},
    {"", "lxc.payload.", Form::Rest::is_name},
    {"lxc.payload", "", Form::Rest::is_name},
    {"lxc", "", Form::Rest::is_name},
    {"", "machine-", Form::Rest::is_unit_name},
    {"", "systemd-nspawn@", Form::Rest::is_unit_name},
};

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool is_id(std::string_view text) {
  return text.size() == kIdDigits && is_hexadecimal(text);
}

// Without the affixes of a systemd unit.
std::string_view without_unit(std::string_view group) {
  for (const std::string_view unit : {".scope", ".service"})
    if (group.ends_with(unit))
      return group.substr(0, group.size() - unit.size());
  return group;
}

// "my-web" for "my\x2dweb". Unprintable characters stay escaped.
std::string without_escapes(std::string_view name) {
  std::string text;
  while (!name.empty()) {
    unsigned char byte = 0;
    const bool is_escape =
        name.starts_with("\\x") && name.size() >= 4 &&
        std::from_chars(name.data() + 2, name.data() + 4, byte, 16).ptr == name.data() + 4 &&
        byte > ' ' && byte <= '~';
    text += is_escape ? static_cast<char>(byte) : name.front();
    name.remove_prefix(is_escape ? 4 : 1);
  }
  return text;
}

std::string container_of_group(std::string_view parent, std::string_view group) {
  if (group.ends_with(".slice"))
    return {}; // the group only contains the groups below
  const std::string_view name = without_unit(group);
  for (const Form& form : kForms)
    if ((form.parent.empty() || form.parent == parent) && name.starts_with(form.begin)) {
      const std::string_view rest = name.substr(form.begin.size());
      if (form.rest == Form::Rest::is_of_monitor)
        return {};
      return form.rest == Form::Rest::is_name ? std::string(rest) : without_escapes(rest);
    }
  const std::string_view id = name.substr(name.find_last_of('-') + 1);
  return std::string(is_id(id) ? id : std::string_view());
}

std::string tell_some(const std::vector<ContainerGroup>& groups) {
  std::vector<std::string> names;
  for (const ContainerGroup& group : groups)
    names.push_back(is_id(group.container) ? group.container.substr(0, kShownDigits)
                                           : group.container);
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  const std::size_t all = names.size();
  names.resize(std::min(all, kNamedMost));
  return all == 0
             ? "nor after any container"
             : fmt::format("but after {}{}", fmt::join(names, ", "),
                           all > kNamedMost ? fmt::format(" and {} more", all - kNamedMost) : "");
}

} // namespace

std::string container_of(std::string_view group) {
  std::string container;
  std::string_view parent;
  while (!group.empty()) {
    const std::string_view name = group.substr(0, group.find('/'));
    if (std::string own = container_of_group(parent, name); !own.empty())
      container = std::move(own);
    parent = name;
    group.remove_prefix(std::min(name.size() + 1, group.size()));
  }
  return container;
}

bool is_called(std::string_view container, std::string_view wanted) {
  return !wanted.empty() &&
         (container == wanted ||
          (is_id(container) && wanted.size() >= kShownDigits && container.starts_with(wanted)));
}

std::vector<ContainerGroup> find_container_groups(const std::filesystem::path& hierarchy) {
  std::vector<ContainerGroup> groups;
  std::error_code code;
  constexpr auto kOptions = std::filesystem::directory_options::skip_permission_denied;
  std::filesystem::recursive_directory_iterator at(hierarchy, kOptions, code);
  for (; !code && at != std::filesystem::recursive_directory_iterator(); at.increment(code)) {
    if (std::error_code ignored; !at->is_directory(ignored) || at->is_symlink(ignored))
      continue;
    const std::filesystem::path& path = at->path();
    std::string container =
        container_of_group(path.parent_path().filename().native(), path.filename().native());
    if (!container.empty())
      groups.push_back({path, std::move(container)});
  }
  std::ranges::sort(groups, {}, &ContainerGroup::path);
  return groups;
}

Result<std::filesystem::path> find_container(const std::string& container) {
  std::vector<ContainerGroup> all;
  for (const Mount& mount : read_mounts())
    if (mount.type == "cgroup2" && all.empty())
      all = find_container_groups(mount.point);
  std::vector<std::filesystem::path> groups;
  for (const ContainerGroup& group : all)
    if (is_called(group.container, container) &&
        (groups.empty() || !group.path.native().starts_with(groups.back().native() + "/")))
      groups.push_back(group.path); // includes all groups below it
  if (groups.size() == 1)
    return groups.front();
  const std::string what = "container " + container;
  if (groups.empty())
    return fail(what, "no control group is named after it, " + tell_some(all),
                "Give the id that `docker ps`, `podman ps` or `crictl ps` shows (12 digits or "
                "more), or the name of an LXC or nspawn container; --cgroup takes any control "
                "group.");
  return fail(what,
              fmt::format("several control groups are named after it: {}, {}", groups[0].native(),
                          groups[1].native()),
              "Give more digits of its id, or name one of them with --cgroup.");
}

} // namespace iotrail::capture

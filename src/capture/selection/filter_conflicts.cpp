// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/filter_conflicts.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/path_below.hpp"
#include "capture/selection/block_device.hpp"
#include "capture/selection/cgroups.hpp"
#include "capture/selection/file_system.hpp"
#include "capture/selection/mounts.hpp"
#include "capture/selection/operations.hpp"
#include "schema.hpp"

namespace iotrail::cli {
namespace {

namespace fs = std::filesystem;
using capture::Filter;

// The path without links; empty: no such file.
std::string real_path(const std::string& path) {
  std::error_code code;
  return fs::canonical(path, code).native();
}

std::string device_path(const std::string& name) {
  return name.contains('/') ? name : "/dev/" + name;
}

// Whether two names mean the same thing.
template <class Resolve>
Result<void> check_same(std::string_view option, const std::vector<std::string>& wanted,
                        const std::vector<std::string>& excluded, const Resolve& resolve) {
  for (const std::string& one : wanted)
    for (const std::string& other : excluded)
      if (const auto thing = resolve(one); thing && thing == resolve(other))
        return fail_usage(fmt::format("--{0} {1} and --exclude-{0} {2}", option, one, other),
                          "they are the same, and both at once stand for nothing");
  return {};
}

std::optional<std::string> path_of(const std::string& path) {
  std::string real = real_path(path);
  return real.empty() ? std::nullopt : std::optional(std::move(real));
}

std::optional<std::pair<dev_t, ino_t>> inode_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

std::optional<iot_u32> disk_of(const std::string& name) {
  struct stat status{};
  if (::stat(device_path(name).c_str(), &status) != 0 || !S_ISBLK(status.st_mode))
    return std::nullopt;
  return capture::kernel::whole_disk(capture::kernel::kernel_device(status.st_rdev));
}

// The file systems of a recording; without a mount or device, all.
struct FileSystems {
  std::string words; // as on the command line
  std::vector<iot_u32> devices;
  std::vector<std::string> points; // mount points
};

void add_file_system(FileSystems& systems, const capture::Mount& mount) {
  systems.devices.push_back(mount.device);
  systems.points.push_back(mount.point);
}

FileSystems file_systems_of(const capture::Selector& things, std::string_view exclusion) {
  FileSystems systems;
  const auto name = [&](std::string_view option, const std::string& value) {
    systems.words +=
        fmt::format("{}--{}{} {}", systems.words.empty() ? "" : " ", exclusion, option, value);
  };
  const std::vector<capture::Mount> mounts = capture::read_mounts();
  for (const std::string& path : things.mounts) {
    name("mount", path);
    const std::string point = real_path(path);
    for (const capture::Mount& mount : mounts)
      if (mount.point == point)
        systems.devices.push_back(mount.device);
  }
  for (const std::string& device : things.devices) {
    name("device", device);
    for (const capture::Mount& mount : mounts)
      if (const auto disk = disk_of(device); disk && disk == disk_of(mount.source))
        systems.devices.push_back(mount.device);
  }
  for (const capture::Mount& mount : mounts)
    if (std::ranges::find(systems.devices, mount.device) != systems.devices.end())
      add_file_system(systems, mount);
  return systems;
}

bool is_on(const FileSystems& systems, const std::string& path) {
  const iot_u32 device = capture::kernel::file_system_of(path);
  return std::ranges::find(systems.devices, device) != systems.devices.end();
}

bool is_mounted_below(const FileSystems& systems, const std::string& folder) {
  const std::string real = real_path(folder);
  return !real.empty() && std::ranges::any_of(systems.points, [&](const std::string& point) {
    return is_below(point, real);
  });
}

// A file must pass both the filters for files and those for file systems.
Result<void> check_places(const Filter& filter) {
  const capture::Selector& wanted = filter.wanted;
  if (!wanted.choose_files())
    return {};
  const FileSystems where = file_systems_of(wanted, "");
  const FileSystems elsewhere = file_systems_of(filter.excluded, "exclude-");
  const auto may_be_recorded = [&](const std::string& path, bool is_folder) {
    if (std::error_code ignored; !fs::exists(path, ignored))
      return true; // reported elsewhere
    if (!where.words.empty() && !is_on(where, path) &&
        !(is_folder && is_mounted_below(where, path)))
      return false;
    return elsewhere.devices.empty() || !is_on(elsewhere, path) || is_folder;
  };
  const auto are_none = [&](const std::vector<std::string>& paths, bool is_folder) {
    return std::ranges::none_of(paths,
                                [&](const auto& path) { return may_be_recorded(path, is_folder); });
  };
  if (!are_none(wanted.files, false) || !are_none(wanted.folders, true))
    return {};
  const std::string& path = wanted.files.empty() ? wanted.folders.front() : wanted.files.front();
  return fail_usage(fmt::format("--{} {} with {}", wanted.files.empty() ? "dir" : "file", path,
                                where.words.empty() ? elsewhere.words : where.words),
                    where.words.empty()
                        ? "what is named lies on what is excluded"
                        : "what is named lies elsewhere, and files have to pass both",
                    "Leave one of them out.");
}

bool has_role(const schema::Event& event, schema::Role role) {
  return std::ranges::any_of(event.fields,
                             [&](const schema::Field& field) { return field.role == role; });
}

// Calls with only a path, and waits, have no known file.
bool is_left_out_with_files(const schema::Event& event) {
  return event.layer == schema::Layer::sched ||
         (event.layer == schema::Layer::syscall && !has_role(event, schema::Role::file));
}

Result<void> check_events_of_files(const Filter& filter) {
  const capture::Selector& wanted = filter.wanted;
  if (!wanted.choose_files() && !wanted.choose_devices())
    return {};
  std::string_view event_without;
  for (const schema::Event& event : schema::kEvents)
    if (filter.records(event)) {
      if (!is_left_out_with_files(event))
        return {};
      event_without = event.name;
    }
  return fail_usage(
      fmt::format("{} with a filter of files or devices: nothing to record", event_without),
      "the file of such an event is unknown",
      "Leave out --file, --dir, --mount and --device; --exclude-file and the like may stay.");
}

bool records_causes(const Filter& filter) {
  return std::ranges::any_of(schema::kEvents, [&](const schema::Event& event) {
    return event.layer != schema::Layer::process && filter.records(event) &&
           std::ranges::none_of(
               capture::all_operations(),
               [&](const capture::Operation& operation) { return operation.event == &event; });
  });
}

// Operations of io_uring and libaio share one event with a size.
bool moves_bytes(const capture::Operation& operation) {
  using enum schema::Trait;
  if (operation.event->id != IOT_KIND_async_operation)
    return has_role(*operation.event, schema::Role::bytes);
  return std::ranges::any_of(
      std::initializer_list{reads, writes, sends, receives},
      [&](schema::Trait trait) { return schema::has_trait(operation.class_name, trait); });
}

// Only an operation's own event has the size. Effects of an operation that is not recorded itself
// are kept.
Result<void> check_bytes(const Filter& filter) {
  if (filter.thresholds.bytes == 0)
    return {};
  const bool are_causes_kept = records_causes(filter);
  bool are_any = false;
  for (const capture::Operation& operation : capture::all_operations()) {
    if (!capture::is_chosen(filter, operation))
      continue;
    const bool is_itself = filter.records(*operation.event);
    are_any = are_any || is_itself;
    if (is_itself ? moves_bytes(operation) : are_causes_kept)
      return {};
  }
  return are_any
             ? fail_usage("--min-size: nothing to record",
                          "none of the operations that are recorded moves bytes",
                          "Add some that do to --events or --operations, such as read or write.")
             : Result<void>{};
}

// A task in a group is also in the groups above it.
Result<void> check_groups(const Filter& filter) {
  const auto path_of_group = [](const std::string& group) {
    const auto path = capture::find_cgroup(group);
    return path ? real_path(path->native()) : std::string();
  };
  const auto& wanted = filter.wanted.cgroups;
  if (wanted.empty() || !filter.wanted.containers.empty())
    return {};
  const auto is_excluded = [&](const std::string& group) {
    const std::string path = path_of_group(group);
    return !path.empty() && std::ranges::any_of(filter.excluded.cgroups, [&](const auto& other) {
      const std::string above = path_of_group(other);
      return !above.empty() && is_below(path, above);
    });
  };
  if (!std::ranges::all_of(wanted, is_excluded))
    return {};
  return fail_usage(fmt::format("--cgroup {}: nothing to record", wanted.front()),
                    "it lies in a group that is excluded, with all below it",
                    "Exclude groups below it, or tasks by name.");
}

} // namespace

Result<void> check_conflicts(const Filter& filter) {
  const capture::Selector& wanted = filter.wanted;
  const capture::Selector& excluded = filter.excluded;
  if (auto same = check_same("file", wanted.files, excluded.files, inode_of); !same)
    return same;
  if (auto same = check_same("dir", wanted.folders, excluded.folders, path_of); !same)
    return same;
  if (auto same = check_same("mount", wanted.mounts, excluded.mounts, path_of); !same)
    return same;
  if (auto same = check_same("device", wanted.devices, excluded.devices, disk_of); !same)
    return same;
  for (const auto& check : {check_groups, check_places, check_events_of_files, check_bytes})
    if (Result<void> checked = check(filter); !checked)
      return checked;
  return {};
}

} // namespace iotrail::cli

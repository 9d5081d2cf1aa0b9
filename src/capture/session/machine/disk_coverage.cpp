// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/machine/disk_coverage.hpp"

#include <algorithm>
#include <filesystem>

#include "capture/selection/block_device.hpp"
#include "capture/selection/mounts.hpp"

namespace iotrail::capture {
namespace {

bool is_device(const std::string& name, iot_u32 disk) {
  return kernel::disk_of(name.find('/') == name.npos ? "/dev/" + name : name) == disk;
}

// The last mount at a directory hides those before.
bool is_under_mount(const std::string& path, iot_u32 disk) {
  std::error_code error;
  const std::string point = std::filesystem::canonical(path, error).native();
  const std::vector<Mount> mounts = read_mounts();
  const auto mount = std::ranges::find(mounts.rbegin(), mounts.rend(), point, &Mount::point);
  return mount != mounts.rend() && kernel::disk_of(mount->source) == disk;
}

bool has_disk(const Selector& selector, iot_u32 disk) {
  return std::ranges::any_of(selector.devices,
                             [&](const std::string& name) { return is_device(name, disk); }) ||
         std::ranges::any_of(selector.mounts,
                             [&](const std::string& path) { return is_under_mount(path, disk); });
}

// Requests of a disk are left out by what they are for.
bool leaves_out_requests(const Filter& filter) {
  return filter.filters_tasks() || filter.filters_operations() || filter.thresholds.is_set() ||
         filter.wanted.choose_files() || filter.excluded.choose_files();
}

} // namespace

store::DiskCoverage disk_coverage(const Filter& filter, iot_u32 disk) {
  if ((filter.wanted.choose_devices() && !has_disk(filter.wanted, disk)) ||
      has_disk(filter.excluded, disk))
    return store::DiskCoverage::none;
  const bool is_of_everyone =
      filter.whole_system || (filter.wanted.choose_devices() && !filter.names_tasks());
  return is_of_everyone && !leaves_out_requests(filter) ? store::DiskCoverage::all
                                                        : store::DiskCoverage::followed;
}

} // namespace iotrail::capture

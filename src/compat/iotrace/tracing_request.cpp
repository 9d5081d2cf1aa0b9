// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrace/tracing_request.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "capture/selection/block_device.hpp"
#include "cli/options/trace_options.hpp"
#include "compat/iotrace/answers/mount_points.hpp"
#include "schema.hpp"
#include "store/reader/repository.hpp"

namespace iotrail::compat::iotrace {
namespace {

constexpr std::size_t kMostDevices = 32;
constexpr std::size_t kMostTags = 1024;
constexpr std::size_t kLeastRing = 64U << 10U;
constexpr std::size_t kMostRing = 1U << 30U;

// Events of names, which are expensive if everything is traced, but few on one disk.
constexpr iot_u16 kNameEvents[] = {IOT_KIND_vfs_unlink, IOT_KIND_vfs_rename, IOT_KIND_vfs_mkdir,
                                   IOT_KIND_vfs_link,   IOT_KIND_vfs_open,   IOT_KIND_syscall_open};

bool is_wanted(const schema::Event& event) {
  return (event.layer == schema::Layer::block && !schema::is_on_request(event)) ||
         std::ranges::find(kNameEvents, event.id) != std::end(kNameEvents);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos)
    return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

Result<Disk> disk_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    return fail_errno(fmt::format("cannot trace {}", path), errno,
                      "`lsblk --paths` lists the block devices there are.");
  if (!S_ISBLK(status.st_mode))
    return fail(fmt::format("cannot trace {}", path), "it is not a block device",
                "`lsblk --paths` lists the block devices there are.");
  const iot_u32 device = capture::kernel::disk_of(path);
  const iot_u32 itself = capture::kernel::kernel_device(status.st_rdev);
  if (device == itself)
    return Disk{device, path, path};
  std::string name = capture::kernel::describe_block_device(device).name;
  std::ranges::replace(name, '!', '/'); // sysfs writes cciss!c0d0
  return Disk{device, "/dev/" + name, path};
}

} // namespace

Result<std::vector<Disk>> disks_of(const std::vector<std::string>& devices) {
  if (devices.size() > kMostDevices)
    return fail_usage(fmt::format("--devices: {} devices", devices.size()),
                      fmt::format("at most {} are traced at once", kMostDevices));
  std::vector<Disk> disks;
  for (const std::string& path : devices) {
    auto disk = disk_of(path);
    if (!disk)
      return std::unexpected(disk.error());
    if (std::ranges::find(disks, disk->device, &Disk::device) == disks.end())
      disks.push_back(std::move(*disk));
  }
  return disks;
}

Result<std::map<std::string, std::string>> tags_of(const TracingOptions& options) {
  if (options.tags.size() > kMostTags)
    return fail_usage(fmt::format("--tags: {} tags", options.tags.size()),
                      fmt::format("a trace has at most {}", kMostTags));
  std::vector<std::string> tags;
  for (const std::string& tag : options.tags) {
    const std::size_t equals = tag.find('=');
    if (equals == 0)
      return fail_usage("Missing tag name", tag, "A tag is NAME=VALUE.");
    if (equals == tag.npos || equals + 1 == tag.size())
      return fail_usage("Missing tag value", tag, "A tag is NAME=VALUE.");
    const std::string_view name = trimmed(std::string_view(tag).substr(0, equals));
    const std::string_view value = trimmed(std::string_view(tag).substr(equals + 1));
    if (name.empty())
      return fail_usage("Tag name empty", tag, "A tag is NAME=VALUE.");
    if (value.empty())
      return fail_usage("Tag value empty", tag, "A tag is NAME=VALUE.");
    tags.push_back(fmt::format("{}={}", name, value));
  }
  if (!options.label.empty())
    tags.push_back("label=" + options.label);
  return cli::parse_tags(tags);
}

Result<capture::RecordingRequest> request_of(const TracingOptions& options,
                                             const std::vector<Disk>& disks) {
  constexpr std::uint64_t kSecondNs = 1'000'000'000;
  constexpr unsigned kMiBBits = 20;
  auto tags = tags_of(options);
  if (!tags)
    return std::unexpected(tags.error());
  capture::RecordingRequest request;
  std::vector<std::uint32_t> devices;
  for (const Disk& disk : disks) {
    request.filter.wanted.devices.push_back(disk.path);
    devices.push_back(disk.device);
  }
  for (const schema::Event& event : schema::kEvents)
    if (is_wanted(event)) {
      request.filter.events.emplace_back(event.name);
      if (std::ranges::find(request.filter.layers, event.layer) == request.filter.layers.end())
        request.filter.layers.push_back(event.layer);
    }
  request.limits.time_ns = options.seconds == kEndlessSeconds ? 0 : options.seconds * kSecondNs;
  request.limits.size_bytes = options.size_mib << kMiBBits;
  const long cpus = std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L);
  request.ring_bytes =
      std::clamp((options.buffer_mib << kMiBBits) / static_cast<std::uint64_t>(cpus),
                 std::uint64_t{kLeastRing}, std::uint64_t{kMostRing});
  request.trace = store::new_trace_path({}, "iotrace");
  request.tags = std::move(*tags);
  request.tags.merge(mount_tags(devices));
  return request;
}

} // namespace iotrail::compat::iotrace

// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/block_device.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/bytes.hpp"

namespace iotrail::capture::kernel {
namespace {

constexpr unsigned kMinorBits = 20;

std::filesystem::path sysfs_path(iot_u32 device) {
  return fmt::format("/sys/dev/block/{}:{}", device >> kMinorBits,
                     device & ((1U << kMinorBits) - 1));
}

iot_u64 read_number(const std::filesystem::path& path) {
  iot_u64 number = 0;
  std::ifstream(path) >> number;
  return number;
}

std::string read_line(const std::filesystem::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// 0: no such file.
iot_u32 read_device_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return read_device(file);
}

} // namespace

iot_u32 device_number(unsigned major, unsigned minor) {
  return major << kMinorBits | minor;
}

iot_u32 kernel_device(std::uint64_t st_dev) {
  return device_number(major(st_dev), minor(st_dev));
}

iot_u32 read_device(std::istream& text) {
  unsigned major = 0;
  unsigned minor = 0;
  char colon = 0;
  text >> major >> colon >> minor;
  return device_number(major, minor);
}

iot_u32 whole_disk(iot_u32 device) {
  const std::filesystem::path path = sysfs_path(device);
  std::error_code error;
  if (!std::filesystem::exists(path / "partition", error))
    return device;
  // The directory of a partition is inside its disk's.
  const iot_u32 disk =
      read_device_file(std::filesystem::canonical(path, error).parent_path() / "dev");
  return disk == 0 ? device : disk;
}

iot_u32 disk_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISBLK(status.st_mode))
    return 0;
  return whole_disk(kernel_device(status.st_rdev));
}

std::vector<iot_u32> partitions_of(iot_u32 disk) {
  std::vector<iot_u32> devices{disk};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(sysfs_path(disk), error))
    if (std::filesystem::exists(entry.path() / "partition", error))
      devices.push_back(read_device_file(entry.path() / "dev"));
  return devices;
}

rows::devices describe_block_device(iot_u32 device) {
  const std::filesystem::path path = sysfs_path(device);
  const iot_u32 disk = whole_disk(device);
  const std::filesystem::path disk_path = sysfs_path(disk);
  std::error_code error;
  return rows::devices{
      .device = device,
      .parent_device = disk,
      .bytes = read_number(path / "size") * kSectorBytes,
      .logical_block_bytes =
          static_cast<iot_u32>(read_number(disk_path / "queue/logical_block_size")),
      .rotational = static_cast<iot_u32>(read_number(disk_path / "queue/rotational")),
      .name = std::filesystem::canonical(path, error).filename().string(),
      .model = read_line(disk_path / "device/model"),
      .physical_block_bytes =
          static_cast<iot_u32>(read_number(disk_path / "queue/physical_block_size")),
  };
}

} // namespace iotrail::capture::kernel

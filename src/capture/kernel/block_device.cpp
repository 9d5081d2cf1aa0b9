// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/block_device.hpp"

#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace iotrail::capture::kernel {
namespace {

constexpr unsigned kMinorBits = 20;
constexpr io_u64 kSectorBytes = 512; // of sysfs, whatever the device's own

std::filesystem::path sysfs_path(io_u32 device) {
  return fmt::format("/sys/dev/block/{}:{}", device >> kMinorBits,
                     device & ((1U << kMinorBits) - 1));
}

io_u64 read_number(const std::filesystem::path& path) {
  io_u64 number = 0;
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

} // namespace

io_u32 device_number(unsigned major, unsigned minor) {
  return major << kMinorBits | minor;
}

io_u32 kernel_device(std::uint64_t st_dev) {
  return device_number(major(st_dev), minor(st_dev));
}

io_u32 whole_disk(io_u32 device) {
  const std::filesystem::path path = sysfs_path(device);
  std::error_code error;
  if (!std::filesystem::exists(path / "partition", error))
    return device;
  // A partition's directory lies in its disk's.
  const std::string text = read_line(std::filesystem::canonical(path, error).parent_path() / "dev");
  const std::size_t colon = text.find(':');
  if (colon == text.npos)
    return device;
  return static_cast<io_u32>(std::strtoul(text.c_str(), nullptr, 10)) << kMinorBits |
         static_cast<io_u32>(std::strtoul(text.c_str() + colon + 1, nullptr, 10));
}

rows::devices describe_block_device(io_u32 device) {
  const std::filesystem::path path = sysfs_path(device);
  const io_u32 disk = whole_disk(device);
  const std::filesystem::path disk_path = sysfs_path(disk);
  std::error_code error;
  return rows::devices{
      .device = device,
      .parent_device = disk,
      .bytes = read_number(path / "size") * kSectorBytes,
      .logical_block_bytes =
          static_cast<io_u32>(read_number(disk_path / "queue/logical_block_size")),
      .rotational = static_cast<io_u32>(read_number(disk_path / "queue/rotational")),
      .name = std::filesystem::canonical(path, error).filename().string(),
      .model = read_line(disk_path / "device/model"),
  };
}

} // namespace iotrail::capture::kernel

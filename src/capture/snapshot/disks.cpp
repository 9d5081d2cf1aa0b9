// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/bytes.hpp"
#include "capture/snapshot/proc_text.hpp"
#include "capture/snapshot/system.hpp"

namespace iotrail::capture::snapshot {
namespace {

namespace fs = std::filesystem;
using Disk = iot_snapshot_disk;

constexpr std::uint64_t kMicrosecondNs = 1000;

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

// "8:1"; 0: other text.
iot_u32 device_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos)
    return 0;
  return IOT_DEVICE(leading_number(text), leading_number(std::string_view(text).substr(colon + 1)));
}

// The active value in "none [mq-deadline]".
std::string chosen(const std::string& text) {
  const std::size_t begin = text.find('[');
  const std::size_t end = text.find(']', begin == text.npos ? 0 : begin);
  return begin == text.npos || end == text.npos ? text : text.substr(begin + 1, end - begin - 1);
}

void read_queue(const std::string& disk, Disk& row) {
  struct Attribute {
    const char* name;
    iot_u32 Disk::* field;
    std::uint64_t unit;
  };
  static constexpr Attribute kAttributes[] = {
      {"nr_requests", &Disk::queue_requests, 1},
      {"read_ahead_kb", &Disk::read_ahead_bytes, kKibibyte},
      {"max_sectors_kb", &Disk::request_max_bytes, kKibibyte},
      {"max_hw_sectors_kb", &Disk::hardware_max_bytes, kKibibyte},
      {"logical_block_size", &Disk::logical_block_bytes, 1},
      {"physical_block_size", &Disk::physical_block_bytes, 1},
      {"minimum_io_size", &Disk::io_min_bytes, 1},
      {"optimal_io_size", &Disk::io_optimal_bytes, 1},
      {"rotational", &Disk::rotational, 1},
      {"fua", &Disk::fua, 1},
      {"nomerges", &Disk::no_merges, 1},
  };
  const std::string queue = disk + "/queue/";
  for (const Attribute& attribute : kAttributes)
    row.*attribute.field = static_cast<iot_u32>(
        std::min<std::uint64_t>(read_number(queue + attribute.name) * attribute.unit, UINT32_MAX));
  row.discard_max_bytes = read_number(queue + "discard_max_bytes");
  row.throttle_ns = read_number(queue + "wbt_lat_usec") * kMicrosecondNs;
  row.hardware_queues = static_cast<iot_u32>(names_in(disk + "/mq").size());
}

// `directory` belongs to the disk or to a partition in it.
void add_device(SnapshotRun& run, const std::string& disk, const std::string& directory) {
  const std::uint64_t bytes = read_number(directory + "/size") * kSectorBytes;
  if (bytes == 0)
    return; // empty drive
  Disk row{};
  read_queue(disk, row);
  row.bytes = bytes;
  row.device = device_of(read_line(directory + "/dev"));
  row.parent_device = device_of(read_line(disk + "/dev"));
  row.is_read_only = static_cast<iot_u32>(read_number(directory + "/ro"));
  row.is_removable = static_cast<iot_u32>(read_number(disk + "/removable"));
  ++run.found;
  run.add(row, {{&Disk::name, fs::path(directory).filename().native()},
                {&Disk::model, read_line(disk + "/device/model")},
                {&Disk::below, fmt::format("{}", fmt::join(names_in(directory + "/slaves"), " "))},
                {&Disk::scheduler, chosen(read_line(disk + "/queue/scheduler"))},
                {&Disk::write_cache, read_line(disk + "/queue/write_cache")},
                {&Disk::zones, read_line(disk + "/queue/zoned")}});
}

} // namespace

void take_disks(SnapshotRun& run, const SystemFiles& files) {
  for (const std::string& name : names_in(files.sys + "/block")) {
    const std::string disk = fmt::format("{}/block/{}", files.sys, name);
    add_device(run, disk, disk);
    for (const std::string& part : names_in(disk)) {
      const std::string partition = fmt::format("{}/{}", disk, part);
      std::error_code error;
      if (fs::exists(partition + "/partition", error))
        add_device(run, disk, partition);
    }
  }
}

} // namespace iotrail::capture::snapshot

// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/machine/disk_counters.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "capture/selection/block_device.hpp"
#include "capture/session/machine/disk_coverage.hpp"

namespace iotrail::capture {
namespace {

namespace fs = std::filesystem;

// Fields of the file, as in the kernel's Documentation/block/stat.rst.
constexpr std::size_t kReadSectors = 2;
constexpr std::size_t kWrittenSectors = 6;
constexpr std::size_t kInFlight = 8;
constexpr std::size_t kDiscardedSectors = 13;
constexpr std::size_t kFlushes = 15;
constexpr std::size_t kFields = 17;
constexpr std::uint64_t kKibibyteBytes = 1024;

std::uint64_t number_in(const fs::path& file) {
  std::uint64_t number = 0;
  std::ifstream(file) >> number;
  return number;
}

// False: the disk counts nothing, or its kernel counts less.
bool read_counters(const fs::path& disk, DiskCounters& counters) {
  std::error_code error;
  if (!fs::exists(disk / "mq", error) || number_in(disk / "queue/iostats") == 0)
    return false;
  std::array<std::uint64_t, kFields> fields{};
  std::ifstream file(disk / "stat");
  counters.read_ns = monotonic_ns();
  for (std::uint64_t& field : fields)
    file >> field;
  if (!file)
    return false;
  counters.sums = {.read_bytes = fields[kReadSectors] * kSectorBytes,
                   .written_bytes = fields[kWrittenSectors] * kSectorBytes,
                   .discarded_bytes = fields[kDiscardedSectors] * kSectorBytes,
                   .flushes = fields[kFlushes]};
  counters.in_flight = fields[kInFlight];
  counters.request_max_bytes = number_in(disk / "queue/max_sectors_kb") * kKibibyteBytes;
  std::ifstream device(disk / "dev");
  counters.device = kernel::read_device(device);
  return true;
}

// A disk that was replaced by another one counts from 0 on.
store::DiskSums growth(const store::DiskSums& begin, const store::DiskSums& end) {
  if (end.read_bytes < begin.read_bytes || end.written_bytes < begin.written_bytes ||
      end.discarded_bytes < begin.discarded_bytes || end.flushes < begin.flushes)
    return end;
  return {.read_bytes = end.read_bytes - begin.read_bytes,
          .written_bytes = end.written_bytes - begin.written_bytes,
          .discarded_bytes = end.discarded_bytes - begin.discarded_bytes,
          .flushes = end.flushes - begin.flushes};
}

} // namespace

std::vector<DiskCounters> read_disk_counters(const fs::path& sys) {
  std::vector<DiskCounters> disks;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(sys / "block", error)) {
    DiskCounters counters;
    counters.name = entry.path().filename().string();
    if (read_counters(entry.path(), counters))
      disks.push_back(std::move(counters));
  }
  std::ranges::sort(disks, {}, &DiskCounters::name);
  return disks;
}

std::vector<store::DiskReport> report_disks(const std::vector<DiskCounters>& begin,
                                            const std::vector<DiskCounters>& end,
                                            const Filter& filter, bool has_requests) {
  DiskCounters none;
  none.read_ns = begin.empty() ? 0 : begin.front().read_ns;
  std::vector<store::DiskReport> reports;
  for (const DiskCounters& disk : end) {
    const auto before = std::ranges::find(begin, disk.name, &DiskCounters::name);
    const DiskCounters& first = before == begin.end() ? none : *before;
    store::DiskReport report{.name = disk.name,
                             .device = disk.device,
                             .recorded = store::DiskCoverage::none,
                             .begin_ns = first.read_ns,
                             .end_ns = disk.read_ns,
                             .sums = growth(first.sums, disk.sums),
                             .in_flight = first.in_flight,
                             .request_max_bytes = disk.request_max_bytes};
    if (has_requests)
      report.recorded = disk_coverage(filter, disk.device);
    if (report.recorded == store::DiskCoverage::all || report.sums != store::DiskSums{})
      reports.push_back(std::move(report));
  }
  if (reports.size() > store::Manifest::kNamesMax)
    reports.resize(store::Manifest::kNamesMax);
  return reports;
}

} // namespace iotrail::capture

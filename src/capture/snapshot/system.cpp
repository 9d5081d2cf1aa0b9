// SPDX-License-Identifier: BSD-3-Clause
#include "capture/snapshot/system.hpp"

#include <sys/utsname.h>

#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "capture/selection/mounts.hpp"
#include "capture/snapshot/proc_text.hpp"

namespace iotrail::capture::snapshot {
namespace {

constexpr std::size_t kMountsMost = 16U << 20U; // bytes of mountinfo

std::string read_file(const std::string& path, std::size_t most = kProcTextMost) {
  std::string text;
  (void)read_text(AT_FDCWD, path.c_str(), text, most);
  return text;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == text.npos ? std::string_view{}
                            : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// 5 for "0-3,7".
iot_u32 count_of_list(std::string_view list) {
  iot_u32 count = 0;
  while (!list.empty()) {
    const std::string_view range = list.substr(0, list.find(','));
    const std::uint64_t first = leading_number(range);
    const std::size_t dash = range.find('-');
    const std::uint64_t last = dash == range.npos ? first : leading_number(range.substr(dash + 1));
    if (last >= first && range.find_first_of("0123456789") == 0)
      count += static_cast<iot_u32>(last - first + 1);
    list.remove_prefix(std::min(range.size() + 1, list.size()));
  }
  return count;
}

// "model name\t: Name"
std::string cpu_model(const std::string& cpuinfo) {
  const std::string_view value = line_value(cpuinfo, "model name");
  const std::size_t colon = value.find(':');
  return std::string(colon == value.npos ? "" : trimmed(value.substr(colon + 1)));
}

// PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
std::string os_name(const std::string& os_release) {
  std::string_view name = line_value(os_release, "PRETTY_NAME=");
  for (const char quote : {'"', '\''})
    if (name.size() >= 2 && name.front() == quote && name.back() == quote)
      name = name.substr(1, name.size() - 2);
  return std::string(name);
}

// "12.34 5.67", in seconds
std::uint64_t uptime_ns(const std::string& text) {
  constexpr std::uint64_t kSecondNs = 1'000'000'000;
  constexpr std::uint64_t kHundredthNs = kSecondNs / 100;
  const std::size_t point = text.find('.');
  const std::string_view fraction =
      point == text.npos ? std::string_view{} : std::string_view(text).substr(point + 1);
  return leading_number(text) * kSecondNs + leading_number(fraction) * kHundredthNs;
}

std::string hardware_of(const std::string& sys) {
  const std::string dmi = sys + "/class/dmi/id/";
  return std::string(trimmed(
      fmt::format("{} {}", read_line(dmi + "sys_vendor"), read_line(dmi + "product_name"))));
}

void take_machine(SnapshotRun& run, const SystemFiles& files) {
  using Record = iot_snapshot_system;
  const std::string kernel = files.proc + "/sys/kernel/";
  const std::string cpus = files.sys + "/devices/system/cpu/";
  utsname names{};
  ::uname(&names);
  Record system{};
  system.running_ns = uptime_ns(read_line(files.proc + "/uptime"));
  system.cpus = count_of_list(read_line(cpus + "online"));
  system.cpus_present = count_of_list(read_line(cpus + "present"));
  ++run.found;
  run.add(system, {{&Record::cpu_model, cpu_model(read_file(files.proc + "/cpuinfo"))},
                   {&Record::machine, names.machine},
                   {&Record::hardware, hardware_of(files.sys)},
                   {&Record::host, read_line(kernel + "hostname")},
                   {&Record::os, os_name(read_file(files.etc + "/os-release"))},
                   {&Record::kernel, read_line(kernel + "osrelease")},
                   {&Record::kernel_build, read_line(kernel + "version")},
                   {&Record::kernel_command, read_line(files.proc + "/cmdline")}});
}

void take_memory(SnapshotRun& run, const SystemFiles& files) {
  using Record = iot_snapshot_memory;
  struct Row {
    std::string_view name;
    iot_u64 Record::* field;
  };
  static constexpr Row kRows[] = {
      {"MemTotal:", &Record::total_bytes},
      {"MemFree:", &Record::free_bytes},
      {"MemAvailable:", &Record::available_bytes},
      {"Cached:", &Record::cached_bytes},
      {"Buffers:", &Record::buffer_bytes},
      {"SwapCached:", &Record::swap_cached_bytes},
      {"Dirty:", &Record::dirty_bytes},
      {"Writeback:", &Record::writeback_bytes},
      {"Active(file):", &Record::active_file_bytes},
      {"Inactive(file):", &Record::inactive_file_bytes},
      {"AnonPages:", &Record::anonymous_bytes},
      {"Shmem:", &Record::shared_bytes},
      {"SReclaimable:", &Record::slab_reclaimable_bytes},
      {"Hugetlb:", &Record::huge_page_bytes},
      {"SwapTotal:", &Record::swap_total_bytes},
      {"SwapFree:", &Record::swap_free_bytes},
  };
  const std::string text = read_file(files.proc + "/meminfo");
  Record memory{};
  for (const Row& row : kRows)
    memory.*row.field = leading_number(line_value(text, row.name)) * kKibibyte;
  ++run.found;
  run.add(memory, {});
}

void take_mounts(SnapshotRun& run, const SystemFiles& files) {
  using Record = iot_snapshot_mount;
  std::istringstream text(read_file(files.proc + "/self/mountinfo", kMountsMost));
  for (const Mount& mount : read_mounts(text)) {
    Record row{};
    row.mount = mount.id;
    row.parent_mount = mount.parent;
    row.device = mount.device;
    ++run.found;
    run.add(row, {{&Record::path, mount.point},
                  {&Record::root, mount.root},
                  {&Record::type, mount.type},
                  {&Record::source, mount.source},
                  {&Record::options, mount.options},
                  {&Record::file_system_options, mount.file_system_options}});
  }
}

} // namespace

bool take_system(SnapshotRun& run, const SystemFiles& files) {
  for (const auto take :
       {take_machine, take_memory, take_disks, take_mounts, take_network, take_settings}) {
    if (run.must_stop())
      return false;
    take(run, files);
  }
  return true;
}

} // namespace iotrail::capture::snapshot

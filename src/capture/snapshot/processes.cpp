// SPDX-License-Identifier: BSD-3-Clause
#include "capture/snapshot/processes.hpp"

#include <fcntl.h>

#include <cerrno>

#include "base/clock.hpp"
#include "base/directory.hpp"
#include "capture/selection/cgroups.hpp"
#include "capture/selection/containers.hpp"
#include "capture/snapshot/proc_text.hpp"
#include "capture/tasks/namespaces.hpp"
#include "capture/tasks/tasks.hpp"

namespace iotrail::capture::snapshot {
namespace {

iot_u32 pid_of(std::string_view name) {
  iot_u32 pid = 0;
  const auto end = std::from_chars(name.data(), name.data() + name.size(), pid);
  return end.ec == std::errc{} && end.ptr == name.data() + name.size() ? pid : 0;
}

// Missing files are not an error, as for an ended process or a kernel thread.
class FirstRefusal {
public:
  void note() {
    if (error_ == 0 && (errno == EACCES || errno == EPERM))
      error_ = -errno;
  }
  iot_s32 error() const { return error_; }

private:
  iot_s32 error_ = 0;
};

// "0::/user.slice" of version 2, "4:memory:/x" of others.
std::string_view cgroup_of(std::string_view text) {
  if (const std::string_view unified = unified_cgroup(text); !unified.empty())
    return unified;
  const std::string_view line = text.substr(0, text.find('\n'));
  const std::size_t first = line.find(':');
  const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
  return second == line.npos ? std::string_view{} : line.substr(second + 1);
}

void read_io(std::string_view text, iot_snapshot_process& process) {
  process.call_bytes_read = leading_number(line_value(text, "rchar:"));
  process.call_bytes_written = leading_number(line_value(text, "wchar:"));
  process.read_calls = leading_number(line_value(text, "syscr:"));
  process.write_calls = leading_number(line_value(text, "syscw:"));
  process.device_bytes_read = leading_number(line_value(text, "read_bytes:"));
  process.device_bytes_written = leading_number(line_value(text, "write_bytes:"));
  process.cancelled_bytes = leading_number(line_value(text, "cancelled_write_bytes:"));
}

iot_snapshot_process record_of(iot_u32 pid, const ProcessStat& stat, const CpuShares& shares) {
  iot_snapshot_process process{};
  process.event.pid = pid;
  process.event.tid = pid;
  process.start_ns = stat.start_ns;
  process.cpu_user_ns = stat.user_ns;
  process.cpu_system_ns = stat.system_ns;
  process.block_io_ns = stat.block_io_ns;
  process.virtual_bytes = stat.virtual_bytes;
  process.major_faults = stat.major_faults;
  process.parent_pid = stat.parent;
  process.state = static_cast<unsigned char>(stat.state);
  process.threads = stat.threads;
  process.cpu_5s_permille = shares[0];
  process.cpu_2m_permille = shares[1];
  process.cpu_1h_permille = shares[2];
  return process;
}

} // namespace

bool Processes::take(SnapshotRun& run) {
  return for_each([&](int directory, iot_u32 pid, const ProcessStat& stat) {
    if (run.must_stop())
      return false;
    add(run, directory, pid, stat);
    return true;
  });
}

void Processes::sample() {
  for_each([&](int, iot_u32 pid, const ProcessStat& stat) {
    see(pid, stat);
    return true;
  });
}

CpuShares Processes::see(iot_u32 pid, const ProcessStat& stat) {
  return history_.see(pid, stat.start_ns, monotonic_ns(), stat.user_ns + stat.system_ns);
}

// Skips a process that ends meanwhile.
bool Processes::for_each(const Visit& visit) {
  const OpenDirectory all(::opendir(proc_.c_str()));
  if (!all)
    return true; // /proc is not mounted: the snapshot is empty
  const std::uint64_t begin_ns = monotonic_ns();
  while (const dirent64* entry = ::readdir64(all.get())) {
    const iot_u32 pid = pid_of(entry->d_name);
    if (pid == 0)
      continue;
    const Fd directory(
        ::openat(::dirfd(all.get()), entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory || !read_text(directory.get(), "stat", text_))
      continue;
    if (const auto stat = parse_process_stat(text_))
      if (!visit(directory.get(), pid, *stat))
        return false;
  }
  history_.forget_unseen(begin_ns);
  return true;
}

void Processes::add(SnapshotRun& run, int directory, iot_u32 pid, const ProcessStat& stat) {
  iot_snapshot_process process = record_of(pid, stat, see(pid, stat));
  FirstRefusal refusal;
  const auto read = [&](const char* name) {
    if (!read_text(directory, name, text_))
      refusal.note();
    return std::string_view(text_);
  };
  const std::string_view status = read("status");
  process.uid = static_cast<iot_u32>(leading_number(line_value(status, "Uid:")));
  process.resident_bytes = leading_number(line_value(status, "VmRSS:")) * kKibibyte;
  process.swap_bytes = leading_number(line_value(status, "VmSwap:")) * kKibibyte;
  read_io(read("io"), process);
  const std::string cgroup(cgroup_of(read("cgroup")));
  std::string command;
  std::string exe;
  if (stat.virtual_bytes != 0) { // else it is a kernel thread, or about to end
    command = command_line(std::string(read("cmdline")));
    if (!keeps_arguments_)
      command = without_arguments(command);
    if (exe = read_link(directory, "exe"); exe.empty())
      refusal.note();
  }
  put_namespaces(read_namespaces(directory, [&] { refusal.note(); }), process);
  process.error = refusal.error();
  if (process.error != 0)
    run.count(IOT_COUNTER_snapshot_process_unread);
  ++run.found;
  run.add(process, {{&iot_snapshot_process::name, stat.name},
                    {&iot_snapshot_process::command, command},
                    {&iot_snapshot_process::exe, exe},
                    {&iot_snapshot_process::cgroup, cgroup},
                    {&iot_snapshot_process::container, container_of(cgroup)}});
}

} // namespace iotrail::capture::snapshot

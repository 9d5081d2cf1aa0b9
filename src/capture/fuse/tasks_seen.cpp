// SPDX-License-Identifier: BSD-3-Clause
#include "capture/fuse/tasks_seen.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/process.hpp"
#include "capture/tasks/process_stat.hpp"
#include "capture/tasks/tasks.hpp"

namespace iotrail::capture::fuse {
namespace {

constexpr std::uint64_t kCheckNs = 10'000'000; // a thread may have ended, or run another program
constexpr std::size_t kThreadsMost = 10'000;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// /proc counts in hundredths of a second, and the clock moves between two looks.
bool is_same_start(std::uint64_t a_ns, std::uint64_t b_ns) {
  return (a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns) < kCheckNs;
}

rows::processes program_of(std::uint32_t pid, const ProcessStat& stat, std::uint64_t now_ns) {
  rows::processes row;
  row.since_ns = now_ns;
  row.pid = pid;
  row.parent_pid = stat.parent;
  row.comm = comm_of(static_cast<pid_t>(pid));
  std::error_code error;
  row.exe = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), error).native();
  row.command = command_line(content_of(fmt::format("/proc/{}/cmdline", pid)));
  return row;
}

} // namespace

std::uint32_t TasksSeen::process_of(std::uint32_t tid, std::uint64_t now_ns, bool may_read_memory,
                                    std::optional<rows::processes>* program) {
  if (tid == 0)
    return 0;
  if (const auto found = seen_.find(tid);
      found != seen_.end() && now_ns < found->second.checked_ns + kCheckNs)
    return found->second.pid;
  const auto stat = parse_process_stat(content_of(fmt::format("/proc/{}/stat", tid)));
  if (!stat)
    return 0;
  if (seen_.size() >= kThreadsMost)
    seen_.clear();
  Seen& seen = seen_[tid];
  seen.checked_ns = now_ns;
  if (seen.pid != 0 && is_same_start(seen.start_ns, stat->start_ns) && seen.comm == stat->name)
    return seen.pid;
  seen.pid = static_cast<std::uint32_t>(process_of_thread(static_cast<pid_t>(tid)));
  seen.start_ns = stat->start_ns;
  seen.comm = may_read_memory ? stat->name : std::string();
  if (seen.pid != 0 && may_read_memory)
    *program = program_of(seen.pid, *stat, now_ns);
  return seen.pid;
}

} // namespace iotrail::capture::fuse

// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/collector/owner_check.hpp"

#include <unistd.h>

#include <fstream>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "base/process.hpp"
#include "capture/tasks/process_stat.hpp"

namespace iotrail::capture::preload {

namespace {

constexpr std::uint64_t kKnownNs = 100'000'000; // until a process is asked again
constexpr std::size_t kKnownMost = 1U << 12U;
constexpr int kAncestorsMost = 64;
constexpr std::uint64_t kStatExactnessNs = 20'000'000; // /proc has hundredths of a second

// Nothing: it has ended.
std::optional<ProcessStat> stat_of(iot_u32 pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf(); // if the process has ended, the text is empty
  auto stat = parse_process_stat(text.str());
  // One that only waits for its parent has neither an environment nor mappings.
  return stat && stat->state != 'Z' && stat->state != 'X' ? stat : std::nullopt;
}

// The recorder started the command.
bool descends_from_recorder(iot_u32 pid) {
  for (int depth = 0; depth < kAncestorsMost && pid != 0; ++depth) {
    if (pid == static_cast<iot_u32>(::getpid()))
      return true;
    pid = static_cast<iot_u32>(status_value(static_cast<pid_t>(pid), "PPid:"));
  }
  return false;
}

bool has_own_user(iot_u32 pid) {
  return static_cast<uid_t>(status_value(static_cast<pid_t>(pid), "Uid:")) == ::getuid();
}

} // namespace

bool OwnerCheck::may_own(iot_u32 pid, std::uint64_t now_ns) {
  if (const auto known = until_ns_.find(pid); known != until_ns_.end() && now_ns < known->second)
    return true;
  if (!is_traced(pid) && stat_of(pid))
    return false;
  if (until_ns_.size() >= kKnownMost)
    until_ns_.clear();
  until_ns_[pid] = now_ns + kKnownNs;
  return true;
}

// Some programs overwrite their environment, and some that executed another program have neither
// the variable nor the mapping. The command itself is older than the recording.
bool OwnerCheck::is_traced(iot_u32 pid) const {
  const std::optional<bool> has_one = has_variable(static_cast<pid_t>(pid), variables_);
  if (has_one.value_or(false) || maps_arena(pid) || descends_from_recorder(pid))
    return true;
  if (has_one || !has_own_user(pid))
    return false;
  const auto stat = stat_of(pid);
  return stat && stat->start_ns + kStatExactnessNs >= since_ns_;
}

bool OwnerCheck::maps_arena(iot_u32 pid) const {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);)
    if (line.find(arena_name_) != std::string::npos)
      return true;
  return false;
}

} // namespace iotrail::capture::preload

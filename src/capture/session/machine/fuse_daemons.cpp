// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/machine/fuse_daemons.hpp"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "store/format/recorder_tags.hpp"

namespace iotrail::capture {
namespace {

namespace fs = std::filesystem;

// Anyone may mount and end daemons: these bound the time and the manifest.
constexpr std::size_t kDaemonsMax = 64;
constexpr std::size_t kPointBytesMax = 1024;
constexpr unsigned kSearchesMax = 64;
constexpr std::size_t kDescriptorsMax = 100'000; // in one search

// A process with /dev/fuse open.
struct Holder {
  pid_t pid = 0;
  std::vector<std::uint64_t> connections; // empty: this kernel does not show them
};

bool is_fuse(std::string_view type) {
  return type == "fuse" || type == "fuseblk" || type.starts_with("fuse.");
}

std::optional<pid_t> number_of(const std::string& name) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return error == std::errc{} && end == name.data() + name.size() ? std::optional(pid)
                                                                  : std::nullopt;
}

std::optional<std::uint64_t> connection_of(const fs::path& fdinfo) {
  constexpr std::string_view kKey = "fuse_connection:";
  std::ifstream file(fdinfo);
  for (std::string word; file >> word;)
    if (std::uint64_t connection = 0; word == kKey && file >> connection)
      return connection;
  return std::nullopt;
}

// `left`: descriptors that the search may still read.
std::optional<Holder> holder_of(const fs::path& process, pid_t pid, std::size_t& left) {
  Holder holder;
  std::error_code error;
  fs::directory_iterator descriptors(process / "fd", error);
  for (; !error && descriptors != fs::directory_iterator() && left > 0;
       descriptors.increment(error), --left) {
    std::error_code gone;
    const std::string target = fs::read_symlink(descriptors->path(), gone).native();
    if (gone || !target.ends_with("/dev/fuse"))
      continue;
    holder.pid = pid;
    if (const auto connection = connection_of(process / "fdinfo" / descriptors->path().filename()))
      holder.connections.push_back(*connection);
  }
  return holder.pid != 0 ? std::optional(std::move(holder)) : std::nullopt;
}

std::vector<Holder> holders_in(const fs::path& proc) {
  std::vector<Holder> holders;
  std::size_t left = kDescriptorsMax;
  std::error_code error;
  for (fs::directory_iterator entry(proc, error); !error && entry != fs::directory_iterator();
       entry.increment(error))
    if (const auto pid = number_of(entry->path().filename().native()))
      if (auto holder = holder_of(entry->path(), *pid, left))
        holders.push_back(std::move(*holder));
  std::ranges::sort(holders, {}, &Holder::pid);
  return holders;
}

bool names_point(const fs::path& process, const std::string& point) {
  std::ifstream file(process / "cmdline");
  for (std::string word; std::getline(file, word, '\0');)
    if (word == point || (word.size() == point.size() + 1 && word == point + "/"))
      return true;
  return false;
}

std::string name_in(const fs::path& process) {
  std::string name;
  std::getline(std::ifstream(process / "comm"), name);
  return name;
}

// 0: not known, or several could be it.
pid_t daemon_of(const FuseDaemon& daemon, const std::vector<Holder>& holders, std::size_t mounts,
                const fs::path& proc) {
  std::vector<pid_t> unknown; // of kernels that do not show connections
  for (const Holder& holder : holders) {
    if (std::ranges::find(holder.connections, daemon.device) != holder.connections.end())
      return holder.pid;
    if (holder.connections.empty())
      unknown.push_back(holder.pid);
  }
  if (unknown.size() == 1 && mounts == 1)
    return unknown.front();
  std::erase_if(unknown, [&](pid_t pid) {
    return !names_point(proc / fmt::format("{}", pid), daemon.point);
  });
  return unknown.size() == 1 ? unknown.front() : 0;
}

} // namespace

FuseDaemons::FuseDaemons(fs::path proc)
    : proc_(std::move(proc)),
      mountinfo_(::open((proc_ / "self/mountinfo").c_str(), O_RDONLY | O_CLOEXEC)) {}

// The kernel reports each change once.
bool FuseDaemons::have_mounts_changed() {
  pollfd mounts{.fd = mountinfo_.get(), .events = POLLPRI, .revents = 0};
  return std::exchange(is_first_, false) ||
         (::poll(&mounts, 1, 0) > 0 && (mounts.revents & (POLLPRI | POLLERR)) != 0);
}

// One row per file system, even if it is mounted at several points.
void FuseDaemons::take(const std::vector<Mount>& mounts) {
  std::map<iot_u32, std::vector<std::string>> points;
  for (const Mount& mount : mounts)
    if (is_fuse(mount.type) && mount.point.size() <= kPointBytesMax)
      points[mount.device].push_back(mount.point);
  for (const auto& [device, at] : points) {
    const auto row = std::ranges::lower_bound(
        served_, device, {}, [](const Served& served) { return served.daemon.device; });
    const Served mounted{.daemon = {.device = device, .point = at.front()}};
    const bool is_known = row != served_.end() && row->daemon.device == device;
    if (!is_known && served_.size() < kDaemonsMax)
      served_.insert(row, mounted);
    else if (is_known && std::ranges::find(at, row->daemon.point) == at.end())
      *row = mounted; // another file system has the number now
    else if (is_known)
      row->is_lost = false;
  }
}

bool FuseDaemons::needs_search() const {
  return searches_ < kSearchesMax &&
         std::ranges::any_of(
             served_,
             [&](const Served& served) {
               std::error_code error;
               return !served.is_lost &&
                      (served.daemon.pid == 0 ||
                       !fs::exists(proc_ / fmt::format("{}", served.daemon.pid), error));
             });
}

void FuseDaemons::search() {
  ++searches_;
  const std::vector<Holder> holders = holders_in(proc_);
  for (auto& [daemon, is_lost] : served_) {
    const pid_t pid = daemon_of(daemon, holders, served_.size(), proc_);
    is_lost = pid == 0;
    if (pid == 0)
      continue;
    daemon.pid = pid;
    daemon.name = name_in(proc_ / fmt::format("{}", pid));
  }
}

void FuseDaemons::look() {
  if (have_mounts_changed()) {
    std::ifstream mountinfo(proc_ / "self/mountinfo");
    take(read_mounts(mountinfo));
  }
  if (needs_search())
    search();
}

std::vector<FuseDaemon> FuseDaemons::found() const {
  std::vector<FuseDaemon> daemons;
  for (const Served& served : served_)
    if (served.daemon.pid != 0)
      daemons.push_back(served.daemon);
  return daemons;
}

std::map<std::string, std::string> FuseDaemons::tags() const {
  std::map<std::string, std::string> tags;
  for (const FuseDaemon& daemon : found()) {
    const std::string key = fmt::format("{}fuse.{}", store::kRecorderTags, daemon.device);
    tags[key + ".pid"] = fmt::format("{}", daemon.pid);
    tags[key + ".comm"] = daemon.name;
    tags[key + ".mount"] = daemon.point;
  }
  return tags;
}

} // namespace iotrail::capture

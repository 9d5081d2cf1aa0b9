// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/machine/fuse_daemons.hpp"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
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
constexpr std::size_t kDescriptorsMax = 10'000; // and processes, in one search
constexpr std::size_t kCommandBytesMax = 64U << 10U;
constexpr unsigned kSearchesAtOnce = 4;
constexpr unsigned kLooksBetween = 20; // later searches: rings fill meanwhile

// A process with /dev/fuse open.
struct Holder {
  pid_t pid = 0;
  std::vector<std::uint64_t> connections; // empty: this kernel does not show them
};

struct Holders {
  std::vector<Holder> found;
  bool is_complete = true; // all descriptors could be read
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

// `left`: descriptors and processes that the search may still read.
void add_holder(const fs::path& process, pid_t pid, std::size_t& left, Holders& holders) {
  Holder holder;
  std::error_code error;
  fs::directory_iterator descriptors(process / "fd", error);
  if (error == std::errc::permission_denied)
    holders.is_complete = false;
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
  if (holder.pid != 0)
    holders.found.push_back(std::move(holder));
}

Holders holders_in(const fs::path& proc) {
  Holders holders;
  std::size_t left = kDescriptorsMax;
  std::error_code error;
  for (fs::directory_iterator entry(proc, error);
       !error && entry != fs::directory_iterator() && left > 0; entry.increment(error))
    if (const auto pid = number_of(entry->path().filename().native())) {
      --left;
      add_holder(entry->path(), *pid, left, holders);
    }
  holders.is_complete = holders.is_complete && left > 0;
  std::ranges::sort(holders.found, {}, &Holder::pid);
  return holders;
}

bool names_point(const fs::path& process, const std::string& point) {
  std::ifstream file(process / "cmdline");
  std::string line(kCommandBytesMax, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  std::istringstream words(line);
  for (std::string word; std::getline(words, word, '\0');)
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
pid_t daemon_of(const FuseDaemon& daemon, const Holders& holders, std::size_t mounts,
                const fs::path& proc) {
  std::vector<pid_t> unknown; // of kernels that do not show connections
  for (const Holder& holder : holders.found) {
    if (std::ranges::find(holder.connections, daemon.device) != holder.connections.end())
      return holder.pid;
    unknown.push_back(holder.pid);
  }
  const auto shows = [](const Holder& holder) { return !holder.connections.empty(); };
  if (std::ranges::any_of(holders.found, shows))
    return 0;
  if (unknown.size() == 1 && mounts == 1 && holders.is_complete)
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
  const Holders holders = holders_in(proc_);
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
  ++looks_;
  if (needs_search() && (searches_ < kSearchesAtOnce || looks_ % kLooksBetween == 0))
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

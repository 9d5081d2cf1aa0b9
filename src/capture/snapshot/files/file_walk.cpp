// SPDX-License-Identifier: BSD-3-Clause
#include "capture/snapshot/files/file_walk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"
#include "capture/selection/mounts.hpp"
#include "store/format/layout.hpp"

namespace iotrail::capture::snapshot {
namespace {

constexpr std::size_t kBufferBytes = 128U << 10U;
constexpr unsigned kWanted = STATX_BASIC_STATS | STATX_BTIME;
constexpr int kLookFlags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
constexpr unsigned kTypeShift = 12; // from DT_* to S_IF*

// Clips times to the range of 64-bit nanoseconds, the years 1677 to 2262.
iot_s64 time_ns(const statx_timestamp& time) {
  constexpr std::int64_t kSecondNs = 1'000'000'000;
  constexpr std::int64_t kMostSeconds = INT64_MAX / kSecondNs - 1;
  return std::clamp<std::int64_t>(time.tv_sec, -kMostSeconds, kMostSeconds) * kSecondNs +
         time.tv_nsec;
}

iot_snapshot_file record_of(const struct statx& status) {
  iot_snapshot_file file{};
  file.bytes = status.stx_size;
  file.allocated_bytes = status.stx_blocks * kSectorBytes;
  file.inode = status.stx_ino;
  file.modified_ns = time_ns(status.stx_mtime);
  file.changed_ns = time_ns(status.stx_ctime);
  file.accessed_ns = time_ns(status.stx_atime);
  file.born_ns = (status.stx_mask & STATX_BTIME) != 0 ? time_ns(status.stx_btime) : 0;
  file.mode = status.stx_mode;
  file.links = status.stx_nlink;
  file.uid = status.stx_uid;
  file.gid = status.stx_gid;
  file.device = IOT_DEVICE(status.stx_dev_major, status.stx_dev_minor);
  if (S_ISBLK(status.stx_mode) || S_ISCHR(status.stx_mode))
    file.node_device = IOT_DEVICE(status.stx_rdev_major, status.stx_rdev_minor);
  return file;
}

bool is_directory(const iot_snapshot_file& file) {
  return S_ISDIR(file.mode);
}

} // namespace

FileWalk::FileWalk(SnapshotRun& run, FileBaseline* baseline, bool is_delta)
    : run_(run), baseline_(baseline), is_delta_(is_delta), buffer_(kBufferBytes) {}

bool FileWalk::run(const std::string& root) {
  find_mounts(root);
  look_at_root(root);
  while (!pending_.empty() && !run_.must_stop()) {
    const Handle next = std::exchange(pending_.back(), nullptr);
    pending_.pop_back();
    list(next);
  }
  return !run_.must_stop();
}

void FileWalk::find_mounts(const std::string& root) {
  const std::string below = path_below(root, "");
  for (const Mount& mount : read_mounts())
    if (mount.point.starts_with(below) && mount.point.size() > below.size()) {
      mounts_[mount.point] = mount.device; // the last mount at a point hides the others
      mount_parents_.insert(
          mount.point.substr(0, std::max<std::size_t>(mount.point.rfind('/'), 1)));
    }
}

void FileWalk::look_at_root(const std::string& root) {
  Listing roots{.directory = nullptr, .path = {}, .fd = AT_FDCWD};
  if (baseline_)
    roots.before = baseline_->take({});
  roots.now = roots.before;
  std::erase_if(roots.now, [&](const BaselineFile& file) { return file.name == root; });
  struct statx status{};
  if (::statx(AT_FDCWD, root.c_str(), kLookFlags, kWanted, &status) != 0) {
    leave_out(root, IOT_snapshot_reason_unreadable, errno, 0, IOT_COUNTER_snapshot_unreadable);
    keep(roots, root);
  } else {
    device_ = IOT_DEVICE(status.stx_dev_major, status.stx_dev_minor);
    see(roots, root.c_str(), status);
  }
  if (baseline_)
    baseline_->put({}, std::move(roots.now));
}

void FileWalk::list(const Handle& directory) {
  Listing listing{.directory = directory, .path = directory->path(), .fd = -1};
  listing.fd = open_.open(directory);
  if (listing.fd < 0 && errno == ENOENT)
    return; // it is gone: the next delta reports it
  if (listing.fd < 0)
    return leave_out(listing.path, IOT_snapshot_reason_unreadable, errno, 0,
                     IOT_COUNTER_snapshot_unreadable);
  if (baseline_)
    listing.before = baseline_->take(listing.path);
  listing.has_mounts = mount_parents_.contains(listing.path);
  const bool is_whole = list_entries(listing);
  if (!baseline_)
    return;
  if (is_whole)
    tell_removed(listing);
  else // an entry that was not read stays unchanged
    for (BaselineFile& file : listing.before)
      if (!file.is_there)
        listing.now.push_back(std::move(file));
  baseline_->put(listing.path, std::move(listing.now));
}

// False: not all entries were read.
bool FileWalk::list_entries(Listing& listing) {
  std::vector<Entry> entries;
  do {
    if (run_.must_stop())
      return false;
    if (!read_entries(listing.fd, entries)) {
      leave_out(listing.path, IOT_snapshot_reason_unreadable, errno, 0,
                IOT_COUNTER_snapshot_unreadable);
      return false;
    }
    // Inodes are on the disk in the order of their numbers.
    std::ranges::sort(entries, {}, &Entry::inode);
    for (const Entry& entry : entries)
      look_at(listing, entry);
  } while (!entries.empty());
  return true;
}

// No entries: the end. False: an error, in errno.
bool FileWalk::read_entries(int fd, std::vector<Entry>& entries) {
  entries.clear();
  while (entries.empty()) {
    const ssize_t bytes = ::getdents64(fd, buffer_.data(), buffer_.size());
    if (bytes <= 0)
      return bytes == 0 || errno == ENOENT; // it was removed meanwhile
    for (std::size_t at = 0; at < static_cast<std::size_t>(bytes);) {
      const auto& entry = reinterpret_cast<const dirent64&>(buffer_[at]);
      at += entry.d_reclen;
      if (std::strcmp(entry.d_name, ".") != 0 && std::strcmp(entry.d_name, "..") != 0)
        entries.push_back({entry.d_ino, entry.d_type, entry.d_name});
    }
  }
  return true;
}

void FileWalk::look_at(Listing& listing, const Entry& entry) {
  if (listing.has_mounts)
    if (const auto mount = mounts_.find(path_below(listing.path, entry.name));
        mount != mounts_.end())
      return see_mount(listing, entry.name, mount->second);
  struct statx status{};
  if (::statx(listing.fd, entry.name, kLookFlags, kWanted, &status) == 0) {
    if (is_other_file_system(status))
      see_mount(listing, entry.name, IOT_DEVICE(status.stx_dev_major, status.stx_dev_minor));
    else
      see(listing, entry.name, status);
  } else if (errno != ENOENT) { // else it was removed since it was listed
    see_unread(listing, entry, errno);
  }
}

// On an overlay, files may have other device numbers than their directory.
bool FileWalk::is_other_file_system(const struct statx& status) const {
  if ((status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
    return true;
  return S_ISDIR(status.stx_mode) &&
         IOT_DEVICE(status.stx_dev_major, status.stx_dev_minor) != device_;
}

void FileWalk::see(Listing& listing, const char* name, const struct statx& status) {
  ++run_.found;
  iot_snapshot_file file = record_of(status);
  compare(listing, name, file);
  if (is_directory(file))
    enter(listing, name);
}

void FileWalk::compare(Listing& listing, std::string_view name, iot_snapshot_file& file) {
  const std::string path = listing.directory ? path_below(listing.path, name) : std::string(name);
  if (!baseline_)
    return emit(file, path);
  BaselineFile* before = find_known(listing.before, name);
  const std::uint64_t print = fingerprint(file);
  listing.now.push_back({std::string(name), print, is_directory(file)});
  if (before) {
    before->is_there = true;
    if (before->is_directory && !is_directory(file))
      for (const BaselineFile& below : baseline_->take(path))
        tell_removed(path_below(path, below.name), below.is_directory);
  }
  if (before && before->fingerprint == print && is_delta_)
    return;
  if (is_delta_)
    file.difference = before ? IOT_snapshot_difference_changed : IOT_snapshot_difference_added;
  emit(file, path);
}

// It exists, with unknown attributes: keeps the known ones.
void FileWalk::keep(Listing& listing, std::string_view name) {
  BaselineFile* before = find_known(listing.before, name);
  if (!before)
    return;
  listing.now.push_back(*before);
  before->is_there = true;
}

void FileWalk::see_unread(Listing& listing, const Entry& entry, int error) {
  ++run_.found;
  run_.count(IOT_COUNTER_snapshot_file_unread);
  const bool is_known = find_known(listing.before, entry.name) != nullptr;
  keep(listing, entry.name);
  if (is_delta_ && is_known)
    return;
  iot_snapshot_file file{};
  file.inode = entry.inode;
  file.mode = static_cast<iot_u32>(entry.type) << kTypeShift;
  file.error = -error;
  file.difference = is_delta_ ? IOT_snapshot_difference_added : IOT_snapshot_difference_none;
  emit(file, path_below(listing.path, entry.name));
}

void FileWalk::see_mount(Listing& listing, const char* name, iot_u32 device) {
  keep(listing, name);
  leave_out(path_below(listing.path, name), IOT_snapshot_reason_other_file_system, 0, device,
            IOT_COUNTER_snapshot_other_file_system);
}

void FileWalk::enter(Listing& listing, const char* name) {
  // The path of each of its entries must fit into a string of the trace.
  if (listing.path.size() + std::strlen(name) + NAME_MAX + 2 > store::kTextBytesMax)
    return leave_out(path_below(listing.path, name), IOT_snapshot_reason_path_too_long,
                     ENAMETOOLONG, 0, IOT_COUNTER_snapshot_path_too_long);
  pending_.push_back(std::make_shared<Directory>(listing.directory, name));
}

void FileWalk::tell_removed(const Listing& listing) {
  for (const BaselineFile& file : listing.before)
    if (!file.is_there)
      tell_removed(path_below(listing.path, file.name), file.is_directory);
}

void FileWalk::tell_removed(const std::string& path, bool is_removed_directory) {
  std::vector<std::pair<std::string, bool>> removed{{path, is_removed_directory}};
  while (!removed.empty()) {
    const auto [gone, is_directory] = std::move(removed.back());
    removed.pop_back();
    iot_snapshot_file file{};
    file.difference = IOT_snapshot_difference_removed;
    file.mode = is_directory ? S_IFDIR : 0;
    emit(file, gone);
    if (is_directory)
      for (const BaselineFile& below : baseline_->take(gone))
        removed.emplace_back(path_below(gone, below.name), below.is_directory);
  }
}

void FileWalk::emit(iot_snapshot_file& file, std::string_view path) {
  run_.add(file, {{&iot_snapshot_file::path, path}});
}

void FileWalk::leave_out(std::string_view path, iot_u32 reason, int error, iot_u32 device,
                         iot_counter counter) {
  ++run_.left_out;
  run_.count(counter);
  iot_snapshot_left_out left_out{};
  left_out.reason = reason;
  left_out.error = -error;
  left_out.device = device;
  run_.add(left_out, {{&iot_snapshot_left_out::path, path}});
}

} // namespace iotrail::capture::snapshot

// SPDX-License-Identifier: BSD-3-Clause
//
// Reads all files below a directory, in one file system: a row for each, or for each that differs
// from a baseline. It follows no link, enters no other file system, and reports the directories
// that it skips.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture/snapshot/files/file_baseline.hpp"
#include "capture/snapshot/files/open_directories.hpp"
#include "capture/snapshot/rows/snapshot_run.hpp"

struct statx;

namespace iotrail::capture::snapshot {

class FileWalk {
public:
  // Updates `baseline`, if given. `is_delta`: only files that differ from it become rows.
  FileWalk(SnapshotRun& run, FileBaseline* baseline, bool is_delta);

  // False: it stopped early. `root` is an absolute path without links.
  bool run(const std::string& root);

private:
  using Handle = std::shared_ptr<Directory>;

  // A directory during the reading of its entries.
  struct Listing {
    Handle directory;
    std::string path;
    int fd;
    bool has_mounts = false; // one of its entries is a mount point
    BaselineFiles before{};  // entries in the baseline
    BaselineFiles now{};     // entries for the new baseline
  };
  struct Entry {
    std::uint64_t inode;
    unsigned char type; // DT_*
    const char* name;   // in the read buffer
  };

  void look_at_root(const std::string& root);
  void list(const Handle& directory);
  bool list_entries(Listing& listing);
  bool read_entries(int fd, std::vector<Entry>& entries);
  void look_at(Listing& listing, const Entry& entry);
  void see(Listing& listing, const char* name, const struct statx& status);
  void see_unread(Listing& listing, const Entry& entry, int error);
  void see_mount(Listing& listing, const char* name, iot_u32 device);
  void find_mounts(const std::string& root);
  void compare(Listing& listing, std::string_view name, iot_snapshot_file& file);
  void keep(Listing& listing, std::string_view name);
  void tell_removed(const Listing& listing);
  void tell_removed(const std::string& path, bool is_directory);
  void emit(iot_snapshot_file& file, std::string_view path);
  void leave_out(std::string_view path, iot_u32 reason, int error, iot_u32 device,
                 iot_counter counter);
  void enter(Listing& listing, const char* name);
  bool is_other_file_system(const struct statx& status) const;

  SnapshotRun& run_;
  FileBaseline* baseline_;
  bool is_delta_;
  iot_u32 device_ = 0; // of the root
  // The mounts below the root at the begin of the walk, with their devices, and the directories of
  // their mount points. The walk never accesses a mount: a server of a network file system may not
  // answer.
  std::unordered_map<std::string, iot_u32> mounts_;
  std::unordered_set<std::string> mount_parents_;
  OpenDirectories open_;
  std::vector<Handle> pending_; // a stack
  std::vector<std::byte> buffer_;
};

} // namespace iotrail::capture::snapshot

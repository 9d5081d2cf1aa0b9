// SPDX-License-Identifier: BSD-3-Clause
//
// The file system behind the mount: each request is carried out on the backend by the thread that has received it. It knows
// nothing of events.
#pragma once

#include <dirent.h>

#include <mutex>
#include <utility>

#include "base/fd.hpp"
#include "capture/fuse/caller.hpp"
#include "capture/fuse/node_table.hpp"

namespace iotrail::capture::fuse {

struct Passthrough {
  NodeTable nodes;
  bool caches = false; // the kernel may keep attributes, names and pages

  double timeout_s() const { return caches ? 1.0 : 0.0; }
};

// An open file or directory; `fuse_file_info::fh` is its address.
struct OpenFile {
  Fd fd;
  bool is_direct = false; // O_DIRECT: needs aligned memory
  DIR* entries = nullptr; // of a directory
  long entry_at = 0;      // position of `entries`
  std::mutex mutex;       // of `entries`

  ~OpenFile() {
    if (entries != nullptr)
      ::closedir(entries);
  }
};

inline Passthrough& passthrough(fuse_req_t request) {
  return *static_cast<Passthrough*>(fuse_req_userdata(request));
}

inline OpenFile& open_file(const fuse_file_info* info) {
  return *reinterpret_cast<OpenFile*>(static_cast<std::uintptr_t>(info->fh));
}

// Path of an O_PATH descriptor for calls that take no descriptor of this kind.
class DescriptorPath {
public:
  explicit DescriptorPath(int fd);
  const char* get() const { return text_; }

private:
  char text_[32];
};

// Answers with 0 or with errno.
void reply_status(fuse_req_t request, int status);

// Looks `name` up in the backend. 0, or an errno. On success the kernel must learn of the entry, or it must be forgotten.
int look_up(Passthrough& files, NodeId parent, const char* name, fuse_entry_param& entry);

// Sets the handlers of one topic.
void set_name_handlers(fuse_lowlevel_ops& handlers);
void set_attribute_handlers(fuse_lowlevel_ops& handlers);
void set_file_handlers(fuse_lowlevel_ops& handlers);
void set_directory_handlers(fuse_lowlevel_ops& handlers);

} // namespace iotrail::capture::fuse

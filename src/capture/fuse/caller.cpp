// SPDX-License-Identifier: BSD-3-Clause
#include "capture/fuse/caller.hpp"

#include <linux/capability.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace iotrail::capture::fuse {
namespace {

// A thread that gives its file user away loses these capabilities; root takes them back, since the kernel has checked.
void take_capabilities_back() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[2]{};
  if (::syscall(SYS_capget, &header, data) != 0)
    return;
  data[0].effective = data[0].permitted;
  data[1].effective = data[1].permitted;
  ::syscall(SYS_capset, &header, data);
}

} // namespace

ActingFor::ActingFor(const fuse_ctx& caller) {
  if (::geteuid() != 0 || (caller.uid == 0 && caller.gid == 0))
    return;
  ::setfsgid(caller.gid);
  ::setfsuid(caller.uid);
  take_capabilities_back();
  is_changed_ = true;
}

ActingFor::~ActingFor() {
  if (!is_changed_)
    return;
  ::setfsuid(0);
  ::setfsgid(0);
}

void prepare_worker() {
  ::unshare(CLONE_FS);
  ::umask(0);
}

} // namespace iotrail::capture::fuse

// SPDX-License-Identifier: BSD-3-Clause
//
// A worker thread that acts for the caller: new files belong to the caller, and get the caller's umask. Only root can act for
// others; a mount of another user has no other callers. The kernel has checked the caller's permissions (default_permissions).
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

namespace iotrail::capture::fuse {

class ActingFor {
public:
  explicit ActingFor(const fuse_ctx& caller);
  ~ActingFor();
  ActingFor(const ActingFor&) = delete;
  ActingFor& operator=(const ActingFor&) = delete;

private:
  bool is_changed_ = false;
};

// Prepares the calling thread: it gets an umask of its own, 0.
void prepare_worker();

} // namespace iotrail::capture::fuse

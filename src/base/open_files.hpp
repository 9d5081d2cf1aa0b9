// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/resource.h>

namespace iotrail {

// Lets this process open as many files as it is allowed to. Programs that it starts from now on inherit the limit.
inline void raise_open_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
}

} // namespace iotrail

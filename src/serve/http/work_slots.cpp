// SPDX-License-Identifier: BSD-3-Clause
#include "serve/http/work_slots.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

namespace iotrail::serve {

Result<WorkSlots> WorkSlots::open(int slots) {
  Fd file(::memfd_create("iotrail-serve", MFD_CLOEXEC));
  if (!file)
    return fail_errno("cannot make a file in memory");
  return WorkSlots(std::move(file), slots);
}

bool WorkSlots::take(int wait_ms) const {
  constexpr int kAgainMs = 20;
  for (;; wait_ms -= kAgainMs) {
    for (int slot = 0; slot < slots_; ++slot) {
      struct flock lock{};
      lock.l_type = F_WRLCK;
      lock.l_whence = SEEK_SET;
      lock.l_start = slot;
      lock.l_len = 1;
      if (::fcntl(file_.get(), F_SETLK, &lock) == 0)
        return true;
    }
    if (wait_ms <= 0)
      return false;
    ::poll(nullptr, 0, kAgainMs);
  }
}

} // namespace iotrail::serve

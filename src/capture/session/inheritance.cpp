// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/inheritance.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace iotrail::capture {
namespace {

bool is_ignored(int number) {
  struct sigaction action{};
  return ::sigaction(number, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
         action.sa_handler == SIG_IGN;
}

bool is_closed(int fd) {
  return ::fcntl(fd, F_GETFD) < 0 && errno == EBADF;
}

} // namespace

const Inheritance& Inheritance::of_this_process() {
  static const Inheritance inherited;
  return inherited;
}

Inheritance::Inheritance() {
  ::sigprocmask(SIG_BLOCK, nullptr, &blocked_);
  for (std::size_t i = 0; i < kIgnorable.size(); ++i)
    is_ignored_[i] = is_ignored(kIgnorable[i]);
  for (std::size_t fd = 0; fd < is_closed_.size(); ++fd)
    is_closed_[fd] = is_closed(static_cast<int>(fd));
}

void Inheritance::restore() const {
  for (std::size_t i = 0; i < kIgnorable.size(); ++i)
    ::signal(kIgnorable[i], is_ignored_[i] ? SIG_IGN : SIG_DFL);
  for (std::size_t fd = 0; fd < is_closed_.size(); ++fd)
    if (is_closed_[fd])
      ::close(static_cast<int>(fd));
  ::sigprocmask(SIG_SETMASK, &blocked_, nullptr);
}

} // namespace iotrail::capture

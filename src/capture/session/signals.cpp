// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/signals.hpp"

#include <poll.h>
#include <sys/signalfd.h>

namespace iotrail::capture {

Result<SignalQueue> SignalQueue::open() {
  sigset_t wanted;
  State before{};
  sigemptyset(&wanted);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
    sigaddset(&wanted, number);
  if (sigprocmask(SIG_BLOCK, &wanted, &before.blocked) != 0)
    return fail_errno("cannot block signals");
  // Where it is ignored, a child's status is gone with the child.
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &usual, &before.on_child);
  Fd fd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd)
    return fail_errno("cannot wait for signals");
  return SignalQueue(std::move(fd), before);
}

SignalQueue::~SignalQueue() {
  if (!fd_)
    return;
  while (wait(0))
    continue;
  sigaction(SIGCHLD, &before_.on_child, nullptr);
  sigprocmask(SIG_SETMASK, &before_.blocked, nullptr);
}

std::optional<SignalQueue::Signal> SignalQueue::wait(int milliseconds) {
  pollfd waiting{fd_.get(), POLLIN, 0};
  if (::poll(&waiting, 1, milliseconds) <= 0)
    return std::nullopt;
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof(info)) != sizeof(info))
    return std::nullopt;
  return Signal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

} // namespace iotrail::capture

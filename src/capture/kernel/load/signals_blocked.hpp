// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <signal.h>

namespace iotrail::capture::kernel {

// Threads that begin meanwhile receive no signal: the recorder handles those of the process.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
  sigset_t before_{};
};

} // namespace iotrail::capture::kernel

// SPDX-License-Identifier: BSD-3-Clause
//
// What this process got from the one that started it, as far as iotrail changes it for itself. A command inherits it
// unchanged.
#pragma once

#include <signal.h>

#include <array>

namespace iotrail::capture {

class Inheritance {
public:
  // As it was at the first call. main() makes that before it changes anything.
  static const Inheritance& of_this_process();

  // In a child that is about to execute its program. Async-signal-safe.
  void restore() const;

private:
  Inheritance();

  static constexpr std::array kIgnorable = {SIGCHLD, SIGPIPE, SIGXFSZ}; // that iotrail takes over

  sigset_t blocked_;
  std::array<bool, kIgnorable.size()> is_ignored_{};
  std::array<bool, 3> is_closed_{}; // standard streams
};

} // namespace iotrail::capture

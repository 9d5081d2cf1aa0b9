// SPDX-License-Identifier: BSD-3-Clause
//
// How many processes may work at once. Each holds a lock on a byte of a file in memory, which the
// kernel releases when it ends, however it ends.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"

namespace iotrail::serve {

class WorkSlots {
public:
  static Result<WorkSlots> open(int slots);

  // Waits for a slot; it is this process's until it ends. False: there was none in time.
  bool take(int wait_ms) const;

private:
  WorkSlots(Fd file, int slots) : file_(std::move(file)), slots_(slots) {}

  Fd file_;
  int slots_;
};

} // namespace iotrail::serve

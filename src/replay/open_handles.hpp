// SPDX-License-Identifier: BSD-3-Clause
//
// The open files of a replay. A recorded descriptor may come from another process, or from before
// the recording: an action uses the handle that fits best. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/fd.hpp"
#include "replay/place.hpp"
#include "replay/plan.hpp"

namespace iotrail::replay {

using SharedFd = std::shared_ptr<const Fd>;

enum class Access { reads, writes, any }; // any: a sync needs neither

class OpenHandles {
public:
  OpenHandles(const Plan& plan, const Place& place);

  // The descriptor, or a negative errno.
  int open(const Action& action);
  void close(const Action& action);
  // Opens the file if no handle fits. nullptr: `error` is a negative errno.
  SharedFd handle(const Action& action, Access access, int& error);
  // After each action on a file, so that the last one closes what is still open.
  void end_use(const Action& action);

private:
  struct Handle {
    SharedFd fd;
    std::uint32_t pid; // 0: of no recorded open
    std::uint32_t flags;
  };

  const Plan& plan_;
  const Place& place_;
  std::mutex mutex_;                                               // guards the following members
  std::unordered_map<std::uint32_t, std::vector<Handle>> handles_; // by key of files
  std::unordered_map<std::uint32_t, std::uint64_t> uses_left_;     // of each file, by actions
};

} // namespace iotrail::replay

// SPDX-License-Identifier: BSD-3-Clause
//
// Removes the arena's file and its directory when the recorder is killed and cannot do it: a small process that waits for
// the death of its parent and has nothing else open.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <utility>

namespace iotrail::capture::preload {

class ArenaGuard {
public:
  // To be called by the thread that lives as long as the recorder. Best effort: without the process, what is left behind is
  // removed when the next recorder starts.
  explicit ArenaGuard(const std::filesystem::path& arena);
  ArenaGuard(ArenaGuard&& other) noexcept : process_(std::exchange(other.process_, -1)) {}
  ArenaGuard& operator=(ArenaGuard&&) = delete;
  ~ArenaGuard(); // the recorder lives and removes the file itself

private:
  pid_t process_;
};

} // namespace iotrail::capture::preload

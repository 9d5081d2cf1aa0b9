// SPDX-License-Identifier: BSD-3-Clause
//
// Removes the arena's file and directory if the recorder is killed. It is a small process that
// waits for the death of its parent and has nothing else open.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <utility>

namespace iotrail::capture::preload {

class ArenaGuard {
public:
  // Call it on a thread that lives as long as the recorder. Best effort: without this process, the
  // next recorder cleans up.
  explicit ArenaGuard(const std::filesystem::path& arena);
  ArenaGuard(ArenaGuard&& other) noexcept : process_(std::exchange(other.process_, -1)) {}
  ArenaGuard& operator=(ArenaGuard&&) = delete;
  ~ArenaGuard(); // the recorder still runs and removes the file itself

private:
  pid_t process_;
};

} // namespace iotrail::capture::preload

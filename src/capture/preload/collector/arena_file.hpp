// SPDX-License-Identifier: BSD-3-Clause
//
// The arena as the collector has it: a sparse file in memory (/dev/shm, else the directory for temporary files), made
// here, removed with this object or, by a guard, with the process. Only processes of the same user can open it; of root, every process that is told
// its name, since a traced command may change its user. Processes that still run keep their mapping of it. Its directory is
// locked (flock) for as long as this object lives; one that nobody has locked is removed by the next recorder.
#pragma once

#include <filesystem>
#include <span>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "capture/preload/collector/arena_guard.hpp"
#include "capture/preload/shared/arena.hpp"
#include "capture/tasks/tasks.hpp"

namespace iotrail::capture::preload {

class ArenaFile {
public:
  // `slots` records in each ring: a power of two.
  static Result<ArenaFile> create(iot_u32 slots, ClockKind clock, const WantedCalls& wanted,
                                  const Tasks& tasks);
  ArenaFile(ArenaFile&& other) noexcept;
  ArenaFile& operator=(ArenaFile&&) = delete;
  ~ArenaFile();

  const std::filesystem::path& path() const { return path_; }
  ArenaHeader& header() { return *reinterpret_cast<ArenaHeader*>(base_); }
  const ArenaHeader& header() const { return *reinterpret_cast<const ArenaHeader*>(base_); }
  std::span<iot_u64> owners();
  std::span<ArenaPlace> places();
  std::span<const ArenaPlace> places() const;
  std::span<RawRecord> records(iot_u32 place);
  std::span<std::byte> text(iot_u32 place);

  // Neither has the file been truncated nor, at any time, its memory been lost.
  bool is_whole() const;
  // Its name is gone: programs that start from then on do not find it.
  bool is_removed() const;
  // Tells the programs that have it mapped to leave it alone, and gives the file its size again, without which they are
  // ended by SIGBUS. Best effort.
  void abandon();

  std::size_t memory_bytes() const;                  // that the file takes now
  std::uint64_t made_ns() const { return made_ns_; } // CLOCK_MONOTONIC

private:
  ArenaFile(std::filesystem::path path, Fd lock, ArenaGuard guard, Fd file, std::byte* base,
            iot_u32 slots)
      : path_(std::move(path)), lock_(std::move(lock)), guard_(std::move(guard)),
        file_(std::move(file)), base_(base), slots_(slots) {}
  std::byte* rings(iot_u32 place);

  std::filesystem::path path_;
  Fd lock_; // of its directory
  ArenaGuard guard_;
  Fd file_;
  std::byte* base_;
  std::uint64_t made_ns_ = monotonic_ns();
  iot_u32 slots_; // not taken from the header, which others can write to
};

} // namespace iotrail::capture::preload

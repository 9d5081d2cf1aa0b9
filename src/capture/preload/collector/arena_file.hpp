// SPDX-License-Identifier: BSD-3-Clause
//
// The collector's side of the arena: a sparse file in memory (/dev/shm, else the directory for
// temporary files). This object creates it and removes it; a guard removes it if the process is
// killed. Only processes of the same user can open it. Root's arena is open to every process that
// knows its name, because a traced command may change its user. Running processes keep their
// mapping. The directory is locked (flock) while this object exists; the next recorder removes
// unlocked ones.
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
  std::span<ThreadSlot> places();
  std::span<const ThreadSlot> places() const;
  std::span<RawRecord> records(iot_u32 place);
  std::span<std::byte> text(iot_u32 place);

  // The file was never truncated, and its memory was never lost.
  bool is_whole() const;
  // Its name is gone: new programs do not find it.
  bool is_removed() const;
  // Asks the programs that map it to stop using it, and restores the file's size: without that,
  // SIGBUS would end them. Best effort.
  void abandon();

  std::size_t memory_bytes() const;                  // of the file at present
  std::uint64_t made_ns() const { return made_ns_; } // CLOCK_MONOTONIC

private:
  ArenaFile(std::filesystem::path path, Fd lock, ArenaGuard guard, Fd file, std::byte* base,
            iot_u32 slots)
      : path_(std::move(path)), lock_(std::move(lock)), guard_(std::move(guard)),
        file_(std::move(file)), base_(base), slots_(slots) {}
  std::byte* rings(iot_u32 place);

  std::filesystem::path path_;
  Fd lock_; // on its directory
  ArenaGuard guard_;
  Fd file_;
  std::byte* base_;
  std::uint64_t made_ns_ = monotonic_ns();
  iot_u32 slots_; // not from the header, which others can overwrite
};

} // namespace iotrail::capture::preload

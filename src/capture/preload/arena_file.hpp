// SPDX-License-Identifier: BSD-3-Clause
//
// The arena as the collector has it: a sparse file in memory (/dev/shm, else the directory for temporary files), made
// here, removed with this object. Only processes of the same user can open it; of root, every process that is told
// its name, since a traced command may change its user. Processes that still run keep their mapping of it.
#pragma once

#include <filesystem>
#include <span>

#include "base/result.hpp"
#include "capture/preload/arena.hpp"

namespace iotrail::capture::preload {

class ArenaFile {
public:
  // `slots` records in each ring: a power of two.
  static Result<ArenaFile> create(io_u32 slots, ClockKind clock, io_u64 event_mask);
  ArenaFile(ArenaFile&& other) noexcept;
  ArenaFile& operator=(ArenaFile&&) = delete;
  ~ArenaFile();

  const std::filesystem::path& path() const { return path_; }
  ArenaHeader& header() { return *reinterpret_cast<ArenaHeader*>(base_); }
  const ArenaHeader& header() const { return *reinterpret_cast<const ArenaHeader*>(base_); }
  std::span<io_u64> owners();
  std::span<Place> places();
  std::span<const Place> places() const;
  std::span<RawRecord> records(io_u32 place);
  std::span<std::byte> text(io_u32 place);

  std::size_t memory_bytes() const; // that the file takes now

private:
  ArenaFile(std::filesystem::path path, std::byte* base, std::size_t bytes)
      : path_(std::move(path)), base_(base), bytes_(bytes) {}
  std::byte* rings(io_u32 place);

  std::filesystem::path path_;
  std::byte* base_;
  std::size_t bytes_;
};

} // namespace iotrail::capture::preload

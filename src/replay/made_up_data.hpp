// SPDX-License-Identifier: BSD-3-Clause
//
// Data that nothing compresses, equal in each replay, and a place for data that is read. Not
// thread-safe.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace iotrail::replay {

class MadeUpData {
public:
  static constexpr std::size_t kChunkBytes = 1U << 20U; // a multiple of any device's block

  MadeUpData();

  // One call of pwritev or preadv: bytes moved, or a negative errno. At most 1 GiB.
  std::int64_t write(int file, std::uint64_t position, std::uint64_t bytes) const;
  std::int64_t read(int file, std::uint64_t position, std::uint64_t bytes) const;

private:
  static constexpr std::size_t kChunksMost = 1024; // IOV_MAX
  using Chunks = std::array<iovec, kChunksMost>;
  // Sets the first ones, so that they have the bytes together; returns their number.
  static int cut(Chunks& chunks, std::byte* chunk, std::uint64_t bytes);

  struct Free {
    void operator()(std::byte* bytes) const;
  };
  using Chunk = std::unique_ptr<std::byte, Free>;
  static Chunk new_chunk();
  static Chunk new_data();

  std::byte* written_; // of all objects
  Chunk read_;         // its pages take no memory before they are used
  std::unique_ptr<Chunks> chunks_;
};

} // namespace iotrail::replay

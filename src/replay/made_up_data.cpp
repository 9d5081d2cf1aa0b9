// SPDX-License-Identifier: BSD-3-Clause
#include "replay/made_up_data.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>

namespace iotrail::replay {
namespace {

constexpr std::size_t kAlignment = 4096; // of direct I/O

std::int64_t outcome(ssize_t moved) {
  return moved >= 0 ? moved : -errno;
}

} // namespace

void MadeUpData::Free::operator()(std::byte* bytes) const {
  std::free(bytes);
}

MadeUpData::Chunk MadeUpData::new_chunk() {
  Chunk chunk(static_cast<std::byte*>(std::aligned_alloc(kAlignment, kChunkBytes)));
  if (!chunk)
    throw std::bad_alloc();
  return chunk;
}

MadeUpData::Chunk MadeUpData::new_data() {
  Chunk chunk = new_chunk();
  std::mt19937_64 random;
  for (std::size_t at = 0; at < kChunkBytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(chunk.get() + at, &word, sizeof(word));
  }
  return chunk;
}

MadeUpData::MadeUpData() : read_(new_chunk()), chunks_(std::make_unique<Chunks>()) {
  static const Chunk data = new_data();
  written_ = data.get();
}

int MadeUpData::cut(Chunks& chunks, std::byte* chunk, std::uint64_t bytes) {
  std::size_t count = 0;
  for (; bytes > 0 && count < chunks.size(); ++count) {
    chunks[count] = {chunk, static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kChunkBytes))};
    bytes -= chunks[count].iov_len;
  }
  if (count == 0)
    chunks[count++] = {chunk, 0};
  return static_cast<int>(count);
}

std::int64_t MadeUpData::write(int file, std::uint64_t position, std::uint64_t bytes) const {
  const int count = cut(*chunks_, written_, bytes);
  return outcome(::pwritev(file, chunks_->data(), count, static_cast<off_t>(position)));
}

std::int64_t MadeUpData::read(int file, std::uint64_t position, std::uint64_t bytes) const {
  const int count = cut(*chunks_, read_.get(), bytes);
  return outcome(::preadv(file, chunks_->data(), count, static_cast<off_t>(position)));
}

} // namespace iotrail::replay

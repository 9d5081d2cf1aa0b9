// SPDX-License-Identifier: BSD-3-Clause
//
// Bounds the memory for the texts of a trace: a few compressed blocks may hold any amount of text.
// Safe from several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace iotrail::store {

class TextBudget {
public:
  static constexpr const char* kLimit =
      "NOT ALL TEXTS: names and other texts of the trace need too much memory, and some of their "
      "rows are passed over.";

  TextBudget(std::size_t blocks, std::uint64_t trace_bytes)
      : counted_(std::make_unique<std::atomic<std::uint64_t>[]>(blocks)),
        bytes_max_(kBytesFree + kBytesOfStored * trace_bytes) {}

  // Counts the bytes of a block's texts, each once however often it is read. False: they would be
  // too many.
  bool take(std::size_t block, std::uint64_t bytes) {
    std::atomic<std::uint64_t>& counted = counted_[block];
    const std::uint64_t more = bytes - std::min<std::uint64_t>(bytes, counted);
    if (bytes_ + more > bytes_max_)
      return false;
    counted += more;
    bytes_ += more;
    return true;
  }

private:
  // Texts of a recorder take a tenth of their bytes in a block, or more, and events besides. The
  // report takes eight times the bytes of all texts.
  static constexpr std::uint64_t kBytesFree = 48U << 20U;
  static constexpr std::uint64_t kBytesOfStored = 8; // for each byte of the trace

  std::unique_ptr<std::atomic<std::uint64_t>[]> counted_; // of each block
  std::atomic<std::uint64_t> bytes_ = 0;
  std::uint64_t bytes_max_ = 0;
};

} // namespace iotrail::store

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
#include <vector>

#include "store/format/block.hpp"

namespace iotrail::store {

class TextBudget {
public:
  TextBudget(std::size_t blocks, std::uint64_t trace_bytes)
      : counted_(std::make_unique<std::atomic<std::uint64_t>[]>(blocks)),
        bytes_max_(kBytesFree + kBytesOfStored * trace_bytes) {}

  // Counts the texts of a block, each once however often it is read. False: they would be too many.
  bool take(std::size_t block, const std::vector<Column>& columns) {
    const std::uint64_t bytes = text_bytes(columns);
    std::atomic<std::uint64_t>& counted = counted_[block];
    const std::uint64_t more = bytes - std::min<std::uint64_t>(bytes, counted);
    if (bytes_ + more > bytes_max_)
      return false;
    counted += more;
    bytes_ += more;
    return true;
  }

private:
  // Texts of a recorder take a tenth of their bytes in a block, or more.
  static constexpr std::uint64_t kBytesFree = 128U << 20U;
  static constexpr std::uint64_t kBytesOfStored = 32; // for each byte of the trace

  static std::uint64_t text_bytes(const std::vector<Column>& columns) {
    std::uint64_t bytes = 0;
    for (const Column& column : columns)
      if (const auto* texts = std::get_if<Texts>(&column))
        for (const std::string& text : *texts)
          bytes += text.size();
    return bytes;
  }

  std::unique_ptr<std::atomic<std::uint64_t>[]> counted_; // of each block
  std::atomic<std::uint64_t> bytes_ = 0;
  std::uint64_t bytes_max_ = 0;
};

} // namespace iotrail::store

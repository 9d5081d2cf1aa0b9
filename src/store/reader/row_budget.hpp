// SPDX-License-Identifier: BSD-3-Clause
//
// Bounds the rows of a trace by its size: a few blocks of constant columns may stand for any number,
// and each pass over them would take minutes.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace iotrail::store {

class RowBudget {
public:
  explicit RowBudget(std::uint64_t trace_bytes) : left_(kRowsFree + kRowsOfByte * trace_bytes) {}

  // Counts the rows of a block. False: they would be too many.
  bool take(std::uint64_t rows) {
    const bool is_taken = rows <= left_;
    (is_taken ? left_ : refused_) += is_taken ? 0 - rows : rows;
    return is_taken;
  }

  bool is_exceeded() const { return refused_ != 0; }
  std::string limit() const {
    return fmt::format("NOT ALL ROWS: the trace has {} more than iotrail reads of one of its size. "
                       "No recorder stores so many in so few bytes.",
                       refused_);
  }

private:
  // A recorder needs two bytes or more for a row.
  static constexpr std::uint64_t kRowsFree = 1U << 20U;
  static constexpr std::uint64_t kRowsOfByte = 1; // for each byte of the trace

  std::uint64_t left_;
  std::uint64_t refused_ = 0;
};

} // namespace iotrail::store

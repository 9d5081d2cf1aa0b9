// SPDX-License-Identifier: BSD-3-Clause
//
// The values of a column, collected from several chunks in the layout of Arrow.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "export/arrow/arrow_type.hpp"

namespace iotrail::output {

// The rows of a column, and how many are NULL; laid out as files have it.
struct ArrowNode {
  std::int64_t rows;
  std::int64_t nulls;
};

class ArrowColumn {
public:
  static Result<ArrowColumn> make(const ArrowSchema& field);

  // false: an end of its values would exceed 32 bits; empty columns have room for any chunk.
  bool has_room_for(const ArrowArray& values) const;
  void append(const ArrowArray& values);
  void clear();

  std::size_t bytes() const;
  // Its nodes and buffers, and those of its children behind them; valid until the next change.
  void list(std::vector<ArrowNode>& nodes, std::vector<std::string_view>& buffers) const;

private:
  explicit ArrowColumn(const ArrowType& type) : layout_(type.layout), width_(type.width) {}
  void append_ends(std::span<const std::int32_t> ends);

  ArrowLayout layout_;
  std::size_t width_;
  std::size_t rows_ = 0;
  std::int64_t nulls_ = 0;
  std::string validity_;
  std::vector<std::int32_t> ends_{0}; // from the first value's begin on
  std::string data_;
  std::vector<ArrowColumn> children_;
};

} // namespace iotrail::output

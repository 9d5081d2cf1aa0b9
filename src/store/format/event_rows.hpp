// SPDX-License-Identifier: BSD-3-Clause
//
// Turns records, in the order of arrival, into columns in the order of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "schema.hpp"
#include "store/format/block.hpp"

namespace iotrail::store {

// Keeps its memory from block to block. Not thread-safe.
class EventTransposer {
public:
  // `records` holds whole records of `event`: at least one, at most kBlockRowsMax. The result is
  // valid until the next call.
  const BlockRows& transpose(const schema::Event& event, ByteSpan records);

private:
  void compare_records(const schema::Event& event, ByteSpan records);
  bool has_constant(const schema::Event& event, std::size_t lane) const;
  void sort_by_time(ByteSpan records, std::size_t record_bytes);
  void sort_distant(ByteSpan records, std::size_t record_bytes);
  void make_column(const schema::Field& field, std::size_t record_bytes, ByteSpan records,
                   Numbers& out) const;

  // one record of bits: set where any record differs from the first
  std::vector<std::byte> differs_;
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint64_t> spare_;
  // Byte offsets of the records in the order of time; empty if they arrived in that order.
  std::vector<std::uint32_t> positions_;
  BlockRows rows_;
};

} // namespace iotrail::store

// SPDX-License-Identifier: BSD-3-Clause
//
// How one column of a block becomes bytes. The encoding of each column is chosen by looking at its values; the columns
// may lean on one another (a thread's operations are numbered one by one, a read returns what it was asked for).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "store/packed.hpp"

namespace iotrail::store {

using NumbersView = std::span<const std::uint64_t>;

// Numbers are stored in traces and never reused.
enum class Encoding : std::uint8_t {
  constant = 0, // one value
  linear = 1,   // first value and step
  packed = 2,   // the values
  delta = 3,    // first value, then differences from row to row
  table = 4,    // few distinct values: a table of them and an index for each row
  keyed = 5, // differences to the last row with the same value in another column, which has a table
  difference = 6, // differences to another column in the same row
  text = 7,       // length and bytes of each
};

// At most this many entries, so that an index fits a byte.
inline constexpr std::size_t kTableEntriesMax = 256;

struct ColumnPlan {
  Encoding encoding = Encoding::constant;
  std::uint16_t reference =
      0; // keyed and difference: the column leaned on, which leans on none itself
  PackedForm form;
  bool is_base_exact = false;       // or has been for an earlier block; else it is that of a sample
  std::vector<std::uint64_t> table; // in order of first appearance
  std::vector<std::uint32_t> first_rows; // in which the entries of `table` appear first
  std::vector<std::uint8_t> slots;       // index of each row into `table`
};

constexpr bool leans_on_another(Encoding encoding) {
  return encoding == Encoding::keyed || encoding == Encoding::difference;
}

// The plans for blocks of one kind, one for each column. To compare encodings costs more than to encode, and blocks of a
// kind resemble one another: plans are kept while they fit, for some blocks at most, and while they do their work well.
class ColumnPlans {
public:
  // All columns have `rows` values, at least one, or a single one that all rows have. Text columns are given as empty
  // spans and get the encoding `text`. Valid until the next call.
  std::span<ColumnPlan> update(std::span<const NumbersView> columns, std::size_t rows);

  // What the block of the last update() took.
  void report(std::size_t bytes);

private:
  std::vector<ColumnPlan> plans_;
  std::size_t rows_ = 0;         // of the last block
  std::size_t planned_rows_ = 0; // and bytes: of the block for which the plans were made
  std::size_t planned_bytes_ = 0;
  unsigned blocks_left_ = 0; // until they are made anew
  bool is_new_ = true;
};

// Appends the column's bytes. A plan's base is lowered where values lie below it.
void write_numbers(std::span<const NumbersView> columns, std::span<ColumnPlan> plans,
                   std::size_t column, Packer& packer, ByteWriter& out);
void write_texts(std::span<const std::string> texts, ByteWriter& out);

struct DecodedNumbers {
  std::vector<std::uint64_t> values;
  std::vector<std::uint8_t> slots; // of the encoding `table`
  std::size_t table_entries = 0;
};

// `reference` is the column leaned on, nullptr where the encoding needs none. False: the bytes are not such a column.
bool read_numbers(Encoding encoding, ByteSpan bytes, std::size_t rows,
                  const DecodedNumbers* reference, DecodedNumbers& out);
bool read_texts(ByteSpan bytes, std::size_t rows, std::vector<std::string>& out);

} // namespace iotrail::store

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
  std::vector<std::uint64_t> table; // in order of first appearance
  std::vector<std::uint8_t> slots;  // index of each row into `table`
};

constexpr bool leans_on_another(Encoding encoding) {
  return encoding == Encoding::keyed || encoding == Encoding::difference;
}

// One plan for each column; all have the same number of rows, which is not 0. Text columns are given as empty spans and
// get the encoding `text`.
std::vector<ColumnPlan> plan_columns(std::span<const NumbersView> columns);

// Appends the column's bytes. `scratch` is reused from call to call.
void write_numbers(std::span<const NumbersView> columns, std::span<const ColumnPlan> plans,
                   std::size_t column, std::vector<std::uint64_t>& scratch, ByteWriter& out);
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

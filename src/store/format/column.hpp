// SPDX-License-Identifier: BSD-3-Clause
//
// How one column of a block becomes bytes. The encoding of each column is chosen by looking at its values; the columns
// may lean on one another (a thread's operations are numbered one by one, a read returns what it was asked for).
//
// Who does what, by one worked column: the offsets of 16 reads by turns from two files, a page each, in the block
//     file     7 7 9 7  9 9 7 7  9 7 9 9  7 7 9 9
//     offset   0 1 2 2  3 4 3 4  5 5 6 7  6 7 8 9      times 4096
// 1. ColumnPlans::update() settles what it can without a comparison. `file` has two values, so its plan is `table`, and
//    the plan of this encoding alone holds facts of this very block, made anew for each block even when plans are kept:
//     table {7, 9}   first_rows {0, 2}   slots 0 0 1 0  1 1 0 0  1 0 1 1  0 0 1 1
// 2. For `offset` it compares sizes on a sample of the middle rows. `keyed` by `file` wins: plan {keyed, reference: the
//    column `file`}. What is leaned on keeps its encoding and leans on nothing itself; a key always has a table.
// 3. write_numbers() writes what the encoding needs beside the rows, here the first offset of each slot, 0 and 8192; then
//    it subtracts: from each row the last row of its slot, a slot's first row from itself
//     0 1 0 1  1 1 1 1  1 1 1 1  1 1 1 1      times 4096
// 4. Packer::fill() takes those less plan.form.base and keeps the bits that they use, all together and in each frame. The
//    plan's base was that of a sample: if it is not `is_base_exact`, or a value lies below it (a sign shows), fill() is
//    asked again with the smallest value, which becomes exact and stays for the next blocks. With zigzag the base is 0.
// 5. Packer::write() drops the trailing zero bits that all share (12), folds signs if the form says zigzag, and gives each
//    frame of 64 the width that its bits need (1); it uses the values up. The last frame's missing rows are not written.
//     file     02 0e 12        entries, 7 and 9 as signed    00 00     no shift, base 0     01 34 cd   width, rows
//     offset   00 80 80 01     0 and 8192 as signed          0c 00     shift 12, base 0     01 fa ff   width, rows
// read_numbers() undoes 5 to 3, after the column leaned on. column_test.cpp holds the writer to these bytes; a change of
// them is a change of the format (docs/format.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "store/format/packed.hpp"

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

// SPDX-License-Identifier: BSD-3-Clause
//
// How one column of a block becomes bytes. The encoder looks at the values and chooses an encoding
// for each column. A column may refer to another one: a thread numbers its operations one by one, a
// read returns what it asked for.
//
// The steps, shown for one column: the offsets of 16 reads of two files, a page each, in the block
//     file     7 7 9 7  9 9 7 7  9 7 9 9  7 7 9 9
//     offset   0 1 2 2  3 4 3 4  5 5 6 7  6 7 8 9      times 4096
// 1. ColumnPlans::update() decides what needs no comparison. `file` has two values, so its plan is
//    `table`. Only this encoding keeps facts of the block in its plan. They are made anew for each
//    block, even when plans are kept:
//     table {7, 9}   first_rows {0, 2}   slots 0 0 1 0  1 1 0 0  1 0 1 1  0 0 1 1
// 2. For `offset` it compares sizes on a sample of the middle rows. `keyed` by `file` wins: plan
//    {keyed, reference: the column `file`}. A reference keeps its encoding and has no reference
//    itself. A key always has a table.
// 3. write_numbers() first writes what the encoding needs beside the rows: here 0 and 8192, the
//    first offset of each slot. Then it subtracts from each row the last row of its slot; the first
//    row of a slot becomes 0
//     0 1 0 1  1 1 1 1  1 1 1 1  1 1 1 1      times 4096
// 4. Packer::fill() subtracts plan.form.base from these and notes which bits they use, in total and
//    for each frame. The base comes from a sample. If it is not `is_base_exact`, or a value lies
//    below it (its sign bit is set), fill() runs again with the smallest value. That base is exact
//    and stays for the next blocks. With zigzag the base is 0.
// 5. Packer::write() drops the trailing zero bits that all values share (12) and folds signs if the
//    form says zigzag. Each frame of 64 gets the width that its bits need (1). The call consumes
//    the values. The missing rows of the last frame are not written.
//     file     02 0e 12        entries, 7 and 9 as signed    00 00     no shift, base 0     01 34 cd   width, rows
//     offset   00 80 80 01     0 and 8192 as signed          0c 00     shift 12, base 0     01 fa ff   width, rows
// read_numbers() undoes steps 5 to 3, after it has decoded the reference. column_test.cpp checks
// that the writer makes these bytes. Another result is a change of the format (docs/format.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "store/format/packed.hpp"

namespace iotrail::store {

using NumbersView = std::span<const std::uint64_t>;

// Traces store these numbers, which are never reused.
enum class Encoding : std::uint8_t {
  constant = 0,   // one value
  linear = 1,     // first value and step
  packed = 2,     // the values
  delta = 3,      // first value, then differences from row to row
  table = 4,      // few distinct values: a table of them and an index for each row
  keyed = 5,      // differences to the last row with the same value in a column that has a table
  difference = 6, // differences to another column in the same row
  text = 7,       // length and bytes of each
};

// An index into the table must fit one byte.
inline constexpr std::size_t kTableEntriesMax = 256;

struct ColumnPlan {
  Encoding encoding = Encoding::constant;
  std::uint16_t reference =
      0; // keyed and difference: the column leaned on, which leans on none itself
  PackedForm form;
  bool is_base_exact = false;            // exact, or was for an earlier block; else from a sample
  std::vector<std::uint64_t> table;      // in order of first appearance
  std::vector<std::uint32_t> first_rows; // rows in which the entries of `table` appear first
  std::vector<std::uint8_t> slots;       // index of each row into `table`
};

constexpr bool leans_on_another(Encoding encoding) {
  return encoding == Encoding::keyed || encoding == Encoding::difference;
}

// The plans for blocks of one kind, one for each column. Comparing encodings costs more than
// encoding, and blocks of a kind resemble one another. Plans are therefore kept while they fit and
// compress well, for a limited number of blocks.
class ColumnPlans {
public:
  // All columns have `rows` values, at least one, or a single value that all rows share. Text
  // columns are empty spans and get the encoding `text`. The result is valid until the next call.
  std::span<ColumnPlan> update(std::span<const NumbersView> columns, std::size_t rows);

  // How many bytes the block of the last update() took.
  void report(std::size_t bytes);

private:
  std::vector<ColumnPlan> plans_;
  std::size_t rows_ = 0; // of the last block
  // with planned_bytes_, the size of the block for which the plans were made
  std::size_t planned_rows_ = 0;
  std::size_t planned_bytes_ = 0;
  unsigned blocks_left_ = 0; // until the plans are made anew
  bool is_new_ = true;
};

// Appends the bytes of the column. Lowers a plan's base if values lie below it.
void write_numbers(std::span<const NumbersView> columns, std::span<ColumnPlan> plans,
                   std::size_t column, Packer& packer, ByteWriter& out);
void write_texts(std::span<const std::string> texts, ByteWriter& out);

struct DecodedNumbers {
  std::vector<std::uint64_t> values;
  std::vector<std::uint8_t> slots; // of encoding `table` only
  std::size_t table_entries = 0;
};

// `reference` is the decoded reference column, nullptr if the encoding needs none. False: the bytes
// are malformed.
bool read_numbers(Encoding encoding, ByteSpan bytes, std::size_t rows,
                  const DecodedNumbers* reference, DecodedNumbers& out);
bool read_texts(ByteSpan bytes, std::size_t rows, std::vector<std::string>& out);

} // namespace iotrail::store

// SPDX-License-Identifier: BSD-3-Clause
//
// Events of a trace one by one in the order of time, merged from its blocks. In memory are only the blocks whose
// times overlap at the current place.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <vector>

#include "store/reader/trace_reader.hpp"

namespace iotrail::store {

class EventStream {
public:
  // Columns of a table, by position, that are read beside its time.
  using Columns = std::map<iot_u16, std::vector<int>>;

  // `kinds` empty: all events. Tables of dictionaries may be named too, each alone: they have no common time.
  EventStream(const TraceReader& trace, const std::vector<iot_u16>& kinds = {});
  // Only these tables, and of each only these columns: the others are 0.
  EventStream(const TraceReader& trace, Columns columns);

  // false: the end. A damaged block is passed over and counted by the reader.
  bool next();

  // Of the current row; valid after next() was true and until it is called again.
  const TableInfo& table() const { return *current().table; }
  std::uint64_t time_ns() const { return current().time_ns(); }
  // Of a column that is a number; 0 for text. Signed columns: two's complement.
  std::uint64_t number(std::size_t column) const;
  std::string_view text(std::size_t column) const;

  std::size_t blocks_open_max() const { return blocks_open_max_; }

  // Of blocks whose times overlap as many are held as have this many values; those beyond are passed over, which
  // TraceReader::limits() tells. Of what a recorder writes they have some hundredths of that.
  static constexpr std::size_t kMostValues = 64U << 20U;

private:
  struct OpenBlock {
    const TableInfo* table;
    std::vector<Column> columns;
    int time_column; // -1: none
    std::size_t rows;
    std::size_t row;
    std::size_t order; // place among the blocks: decides between equal times

    std::size_t values() const { return rows * columns.size(); }
    std::uint64_t time_ns() const;
  };
  struct Later {
    bool operator()(const OpenBlock* a, const OpenBlock* b) const {
      const std::uint64_t a_ns = a->time_ns();
      const std::uint64_t b_ns = b->time_ns();
      return a_ns != b_ns ? a_ns > b_ns : a->order > b->order;
    }
  };

  template <typename IsWanted> void take_blocks(const IsWanted& is_wanted);
  const OpenBlock& current() const { return *current_; }
  void open_blocks();
  void open_block(const BlockInfo& block);

  Result<std::vector<Column>> read(const BlockInfo& block, int time_column) const;

  const TraceReader& trace_;
  Columns wanted_;                       // empty: all
  std::vector<const BlockInfo*> blocks_; // by first_ns
  std::size_t next_block_ = 0;
  std::priority_queue<OpenBlock*, std::vector<OpenBlock*>, Later> heap_;
  std::vector<std::unique_ptr<OpenBlock>> open_;
  OpenBlock* current_ = nullptr;
  std::size_t blocks_open_max_ = 0;
  std::size_t values_open_ = 0;
};

} // namespace iotrail::store

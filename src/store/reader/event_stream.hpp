// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the events of a trace one by one in the order of time. It merges the blocks, and keeps only
// those in memory that overlap at the current time.
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
  // Columns to read in addition to the time, by position, for each table.
  using Columns = std::map<iot_u16, std::vector<int>>;

  // Empty `kinds`: all events. A dictionary table may be named too, but only alone: dictionaries
  // have no common time.
  EventStream(const TraceReader& trace, const std::vector<iot_u16>& kinds = {});
  // Reads only these tables, and only these columns of each; other columns are 0.
  EventStream(const TraceReader& trace, Columns columns);

  // False at the end. Skips damaged blocks; the reader counts them.
  bool next();

  // These describe the current row. They are valid after next() has returned true, until the next
  // call of it.
  const TableInfo& table() const { return *current().table; }
  std::uint64_t time_ns() const { return current().time_ns(); }
  // Value of a numeric column; 0 for text. Signed columns: two's complement.
  std::uint64_t number(std::size_t column) const;
  std::string_view text(std::size_t column) const;

  std::size_t blocks_open_max() const { return blocks_open_max_; }

  // Bound for the values of overlapping blocks in memory. Blocks beyond it are skipped, which
  // TraceReader::limits() reports. Traces of a recorder need about a fiftieth of it.
  static constexpr std::size_t kMostValues = 32U << 20U;

private:
  struct OpenBlock {
    const TableInfo* table;
    std::vector<Column> columns;
    int time_column; // -1: none
    std::size_t rows;
    std::size_t row;
    std::size_t order; // position among the blocks: decides between equal times
    std::size_t place; // in open_

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
  void close_current();

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

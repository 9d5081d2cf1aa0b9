// SPDX-License-Identifier: BSD-3-Clause
//
// Events of a trace one by one in the order of time, merged from its blocks. In memory are only the blocks whose
// times overlap at the current place.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "store/trace_reader.hpp"

namespace iotrail::analysis {

class EventStream {
public:
  // `kinds` empty: all events. Tables of dictionaries may be named too, each alone: they have no common time.
  EventStream(const store::TraceReader& trace, const std::vector<iot_u16>& kinds = {});

  // false: the end. A damaged block is passed over and counted by the reader.
  bool next();

  // Of the current row; valid after next() was true and until it is called again.
  const store::TableInfo& table() const { return *current().table; }
  std::uint64_t time_ns() const { return current().time_ns(); }
  // Of a column that is a number; 0 for text. Signed columns: two's complement.
  std::uint64_t number(std::size_t column) const;
  std::string_view text(std::size_t column) const;

  std::size_t blocks_open_max() const { return blocks_open_max_; }

private:
  struct OpenBlock {
    const store::TableInfo* table;
    std::vector<store::Column> columns;
    int time_column; // -1: none
    std::size_t rows;
    std::size_t row;
    std::size_t order; // place among the blocks: decides between equal times

    std::uint64_t time_ns() const;
  };
  struct Later {
    bool operator()(const OpenBlock* a, const OpenBlock* b) const {
      const std::uint64_t a_ns = a->time_ns();
      const std::uint64_t b_ns = b->time_ns();
      return a_ns != b_ns ? a_ns > b_ns : a->order > b->order;
    }
  };

  const OpenBlock& current() const { return *current_; }
  void open_blocks();
  void open_block(const store::BlockInfo& block);

  const store::TraceReader& trace_;
  std::vector<const store::BlockInfo*> blocks_; // by first_ns
  std::size_t next_block_ = 0;
  std::priority_queue<OpenBlock*, std::vector<OpenBlock*>, Later> heap_;
  std::vector<std::unique_ptr<OpenBlock>> open_;
  OpenBlock* current_ = nullptr;
  std::size_t blocks_open_max_ = 0;
};

} // namespace iotrail::analysis

// SPDX-License-Identifier: BSD-3-Clause
//
// One running snapshot: the target of its rows, its number, its counts, and whether to continue.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/clock.hpp"
#include "capture/snapshot/rows/row_queue.hpp"

namespace iotrail::capture::snapshot {

// Counters of all snapshots of a recording; thread-safe.
class Counters {
public:
  void add(iot_counter counter, std::uint64_t value = 1) { values_.at(counter) += value; }
  std::uint64_t value(iot_counter counter) const { return values_.at(counter); }

private:
  std::array<std::atomic<std::uint64_t>, IOT_COUNTER_LIMIT> values_{};
};

class SnapshotRun {
public:
  SnapshotRun(RowSink& sink, Counters& counters, const std::atomic<bool>& is_stopping,
              iot_u32 number)
      : sink_(sink), counters_(counters), is_stopping_(is_stopping), number_(number) {}

  bool must_stop() const { return is_stopping_; }
  void count(iot_counter counter) { counters_.add(counter); }
  iot_u32 number() const { return number_; }

  // Adds a row read now. Sets the record's time and the snapshot's number.
  template <class Record> void add(Record& record, std::initializer_list<TextField<Record>> texts) {
    record.snapshot = number_;
    record.event.ts_ns = monotonic_ns();
    sink_.add(record, texts);
  }

  std::uint64_t found = 0;    // for snapshot_end
  std::uint64_t left_out = 0; // likewise

private:
  RowSink& sink_;
  Counters& counters_;
  const std::atomic<bool>& is_stopping_;
  iot_u32 number_;
};

} // namespace iotrail::capture::snapshot

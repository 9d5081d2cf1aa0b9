// SPDX-License-Identifier: BSD-3-Clause
//
// Takes aggregates out of the kernel's table and writes them: at each interval, before the table is
// full, and at the end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "capture/kernel/aggregate/aggregate_table.hpp"
#include "capture/kernel/collect/kernel_ids.hpp"
#include "capture/source.hpp"

namespace iotrail::capture::kernel {

// The rows of an interval, added up over processes, files and devices: there are few, however long
// the interval is.
class IntervalRows {
public:
  void add(rows::event_sums row);
  std::vector<rows::event_sums> take();

private:
  using Key = std::tuple<iot_u32, std::string, std::string, iot_s32, iot_u64>;

  std::map<Key, rows::event_sums> rows_; // by event, operation, call, error, class of duration
};

class AggregateCollector {
public:
  void configure(const AggregateOptions& options) { options_ = options; }
  bool is_on() const { return options_.interval_ns != 0; }
  void use(AggregateTable table) { table_ = std::move(table); }
  void begin(std::uint64_t now_ns);

  // The aggregates to be written now; nothing: it is not time yet. All messages that they refer to
  // have been sent when it returns.
  std::optional<std::map<AggregateKey, AggregateValues>> take(std::uint64_t now_ns);
  // The same at the end, once: `unfinished` are records made in user space.
  std::optional<std::map<AggregateKey, AggregateValues>>
  take_last(std::span<const RecordSlot> unfinished);
  // Writes the aggregates, and calls on_interval at the end of an interval.
  void write(const std::map<AggregateKey, AggregateValues>& aggregates, std::uint64_t now_ns,
             KernelIds& ids, store::TraceWriter& writer);

  std::uint64_t events() const { return table_.events(); }
  std::size_t memory_bytes() const { return table_.memory_bytes(); }

private:
  AggregateOptions options_;
  AggregateTable table_;
  std::uint64_t since_ns_ = 0; // events not taken yet ended from then on
  std::uint64_t next_ns_ = 0;  // end of the interval
  IntervalRows interval_;      // for on_interval
  bool has_ended_ = false;
};

} // namespace iotrail::capture::kernel

// SPDX-License-Identifier: BSD-3-Clause
//
// When sums are taken out of the kernel's table, and what becomes of them: at each interval, before the table is full, and
// at the end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "capture/kernel/aggregate/aggregate_table.hpp"
#include "capture/kernel/collect/kernel_ids.hpp"
#include "capture/source.hpp"

namespace iotrail::capture::kernel {

class AggregateCollector {
public:
  void configure(const AggregateOptions& options) { options_ = options; }
  bool is_on() const { return options_.interval_ns != 0; }
  void use(AggregateTable table) { table_ = std::move(table); }
  void begin(std::uint64_t now_ns);

  // What is to be written now; nothing: it is not time. The texts that the sums refer to have been sent by its return.
  std::optional<std::map<AggregateKey, AggregateValues>> take(std::uint64_t now_ns);
  // The same at the end, once: `unfinished` are records that user space has put together.
  std::optional<std::map<AggregateKey, AggregateValues>>
  take_last(std::span<const RecordSlot> unfinished);
  // Writes what was taken, and tells whom the options name at the end of an interval.
  void write(const std::map<AggregateKey, AggregateValues>& aggregates, std::uint64_t now_ns,
             KernelIds& ids, store::TraceWriter& writer);

  std::uint64_t events() const { return table_.events(); }
  std::size_t memory_bytes() const { return table_.memory_bytes(); }

private:
  AggregateOptions options_;
  AggregateTable table_;
  std::uint64_t since_ns_ = 0;         // what has not been taken ended from then on
  std::uint64_t next_ns_ = 0;          // end of the interval
  std::vector<rows::event_sums> told_; // of the interval, where somebody is to be told
  bool has_ended_ = false;
};

} // namespace iotrail::capture::kernel

// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/aggregate/aggregate_collector.hpp"

#include <algorithm>
#include <utility>

namespace iotrail::capture::kernel {

void AggregateCollector::begin(std::uint64_t now_ns) {
  since_ns_ = now_ns;
  next_ns_ = now_ns + options_.interval_ns;
}

std::optional<std::map<AggregateKey, AggregateValues>>
AggregateCollector::take(std::uint64_t now_ns) {
  if (now_ns < next_ns_ && !table_.is_filling())
    return std::nullopt;
  return table_.take();
}

std::optional<std::map<AggregateKey, AggregateValues>>
AggregateCollector::take_last(std::span<const RecordSlot> unfinished) {
  if (std::exchange(has_ended_, true))
    return std::nullopt;
  for (const RecordSlot& record : unfinished)
    table_.add(reinterpret_cast<const iot_event&>(record));
  return table_.take_all();
}

void AggregateCollector::write(const std::map<AggregateKey, AggregateValues>& aggregates,
                               std::uint64_t now_ns, KernelIds& ids, store::TraceWriter& writer) {
  std::vector<rows::event_sums> rows =
      write_aggregate_rows(aggregates, since_ns_, now_ns, ids, writer);
  since_ns_ = now_ns;
  if (options_.on_interval)
    std::ranges::move(rows, std::back_inserter(told_));
  if (now_ns < next_ns_ && !has_ended_)
    return;
  next_ns_ = now_ns + options_.interval_ns;
  if (options_.on_interval)
    options_.on_interval(std::exchange(told_, {}));
}

} // namespace iotrail::capture::kernel

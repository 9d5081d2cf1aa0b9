// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/aggregate/aggregate_collector.hpp"

#include <algorithm>
#include <utility>

namespace iotrail::capture::kernel {

void IntervalRows::add(rows::event_sums row) {
  row.pid = 0;
  row.file = 0;
  row.device = 0;
  const auto [found, is_new] =
      rows_.try_emplace({row.event, row.operation, row.call, row.error, row.least_ns}, row);
  if (is_new)
    return;
  rows::event_sums& sum = found->second;
  sum.from_ns = std::min(sum.from_ns, row.from_ns);
  sum.to_ns = std::max(sum.to_ns, row.to_ns);
  sum.events += row.events;
  sum.bytes += row.bytes;
  sum.duration_ns += row.duration_ns;
  sum.max_ns = std::max(sum.max_ns, row.max_ns);
}

std::vector<rows::event_sums> IntervalRows::take() {
  std::vector<rows::event_sums> all;
  for (auto& [key, row] : std::exchange(rows_, {}))
    all.push_back(std::move(row));
  return all;
}

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
    for (rows::event_sums& row : rows)
      interval_.add(std::move(row));
  if (now_ns < next_ns_ && !has_ended_)
    return;
  next_ns_ = now_ns + options_.interval_ns;
  if (options_.on_interval)
    options_.on_interval(interval_.take());
}

} // namespace iotrail::capture::kernel

// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/aggregate/sum_collector.hpp"

#include <algorithm>
#include <utility>

namespace iotrail::capture::kernel {

void SumCollector::begin(std::uint64_t now_ns) {
  since_ns_ = now_ns;
  next_ns_ = now_ns + options_.interval_ns;
}

std::optional<std::map<SumKey, SumValues>> SumCollector::take(std::uint64_t now_ns) {
  if (now_ns < next_ns_ && !table_.is_filling())
    return std::nullopt;
  return table_.take();
}

std::optional<std::map<SumKey, SumValues>>
SumCollector::take_last(std::span<const RecordSlot> unfinished) {
  if (std::exchange(has_ended_, true))
    return std::nullopt;
  for (const RecordSlot& record : unfinished)
    table_.add(reinterpret_cast<const iot_event&>(record));
  return table_.take_all();
}

void SumCollector::write(const std::map<SumKey, SumValues>& sums, std::uint64_t now_ns,
                         KernelIds& ids, store::TraceWriter& writer) {
  std::vector<rows::event_sums> rows = write_sum_rows(sums, since_ns_, now_ns, ids, writer);
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

// SPDX-License-Identifier: BSD-3-Clause
#include "capture/loss_log.hpp"

namespace iotrail::capture {

void LossLog::look(const Source& source, store::TraceWriter& writer, std::uint64_t now_ns) {
  for (const CounterValue& now : source.counters()) {
    std::uint64_t& before = seen_[{now.counter, now.layer}];
    if (now.value <= before)
      continue;
    const schema::Counter* row = schema::find_counter(now.counter);
    IOTRAIL_CHECK(row != nullptr);
    rows::losses loss;
    loss.from_ns = last_look_ns_;
    loss.to_ns = now_ns;
    loss.source = row->source;
    loss.layer = now.layer;
    loss.counter = now.counter;
    loss.events = now.value - before;
    writer.add(loss);
    before = now.value;
  }
}

std::uint64_t LossLog::total(io_counter counter) const {
  std::uint64_t sum = 0;
  for (const auto& [key, value] : seen_)
    if (key.first == counter)
      sum += value;
  return sum;
}

} // namespace iotrail::capture

// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/loss_log.hpp"

#include <algorithm>

namespace iotrail::capture {

void LossLog::sample(std::span<const std::unique_ptr<Source>> sources, store::TraceWriter& writer,
                     std::uint64_t now_ns) {
  for (const auto& source : sources)
    sample(*source, writer, now_ns);
  last_sample_ns_ = now_ns;
}

void LossLog::sample(const Source& source, store::TraceWriter& writer, std::uint64_t now_ns) {
  for (const CounterValue& now : source.counters()) {
    std::uint64_t& before = seen_[{now.counter, now.layer, now.event}];
    if (now.value <= before)
      continue;
    const schema::Counter* row = schema::find_counter(now.counter);
    IOTRAIL_CHECK(row != nullptr);
    rows::losses loss;
    loss.from_ns =
        last_sample_ns_ - std::min(source.longest_lost_ns(), last_sample_ns_ - begin_ns_);
    loss.to_ns = now_ns;
    loss.source = row->source;
    loss.layer = now.layer;
    loss.counter = now.counter;
    loss.events = now.value - before;
    loss.event = now.event;
    writer.add(loss);
    before = now.value;
  }
}

} // namespace iotrail::capture

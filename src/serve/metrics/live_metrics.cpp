// SPDX-License-Identifier: BSD-3-Clause
#include "serve/metrics/live_metrics.hpp"

#include "base/clock.hpp"
#include "serve/metrics/metrics_text.hpp"

namespace iotrail::serve {

Result<std::unique_ptr<LiveMetrics>> LiveMetrics::listen(const std::string& address) {
  auto server = MetricsServer::listen(address);
  if (!server)
    return std::unexpected(server.error());
  return std::unique_ptr<LiveMetrics>(new LiveMetrics(std::move(*server)));
}

void LiveMetrics::show(const store::Manifest& manifest) {
  const std::lock_guard lock(mutex_);
  manifest_.begin_ns = manifest.begin_ns;
  manifest_.end_ns = manifest.end_ns;
  manifest_.sources = manifest.sources;
  manifest_.counters = manifest.counters;
  manifest_.recorder_cpu_ns = manifest.recorder_cpu_ns;
  manifest_.recorder_memory_bytes = manifest.recorder_memory_bytes;
  manifest_.ring_memory_bytes = manifest.ring_memory_bytes;
}

std::string LiveMetrics::text() const {
  const LiveSums sums = counts_.sums();
  const std::lock_guard lock(mutex_);
  return metrics_text(sums, manifest_, monotonic_ns());
}

Result<void> LiveMetrics::start() {
  return server_->start([this] { return text(); });
}

} // namespace iotrail::serve

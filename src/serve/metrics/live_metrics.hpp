// SPDX-License-Identifier: BSD-3-Clause
//
// What `record --metrics` shows: takes the address before the recording begins, sees its rows and
// its account, and answers until it is destroyed. It outlives the recorder.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "serve/metrics/live_counts.hpp"
#include "serve/metrics/metrics_server.hpp"
#include "store/format/manifest.hpp"

namespace iotrail::serve {

class LiveMetrics {
public:
  static Result<std::unique_ptr<LiveMetrics>> listen(const std::string& address);
  LiveMetrics(const LiveMetrics&) = delete;
  LiveMetrics& operator=(const LiveMetrics&) = delete;

  std::string url() const { return server_->url(); }
  store::RowObserver* observer() { return &counts_; }
  void show(const store::Manifest& manifest);
  // Begins to answer. Call it when the recorded command has its process.
  Result<void> start();

private:
  explicit LiveMetrics(std::unique_ptr<MetricsServer> server) : server_(std::move(server)) {}
  std::string text() const;

  LiveCounts counts_;
  mutable std::mutex mutex_;
  store::Manifest manifest_;              // without what no metric needs
  std::unique_ptr<MetricsServer> server_; // the last member: its thread uses the others
};

} // namespace iotrail::serve

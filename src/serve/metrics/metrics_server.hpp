// SPDX-License-Identifier: BSD-3-Clause
//
// Answers `GET /metrics` on this machine, from a thread of its own beside a recording. Connections,
// their heads and their time are limited; each gets one answer.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace iotrail::serve {

class MetricsServer {
public:
  // "9100", "127.0.0.1:9100", "localhost:9100", "[::1]:9100"; "": 127.0.0.1 and any free port.
  // Connections wait until start(). Fails for addresses that other machines can reach.
  static Result<std::unique_ptr<MetricsServer>> listen(const std::string& address);

  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  std::string url() const { return url_; } // "http://127.0.0.1:9100/metrics"

  // Begins to answer, with what `text` returns, which the thread calls. Signals stay with the other
  // threads if they are blocked by now. The destructor ends it.
  Result<void> start(std::function<std::string()> text);

private:
  MetricsServer(Fd listener, std::string url)
      : listener_(std::move(listener)), url_(std::move(url)) {}

  Fd listener_;
  std::string url_;
  std::jthread thread_; // the last member: it uses the others
};

} // namespace iotrail::serve

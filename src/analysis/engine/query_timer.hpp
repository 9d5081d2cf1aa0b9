// SPDX-License-Identifier: BSD-3-Clause
//
// Ends the queries of a connection that run when a time is over.
#pragma once

#include <duckdb.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "base/result.hpp"

namespace iotrail::analysis {

class QueryTimer {
public:
  // The time begins now. `connection` must outlive the timer.
  QueryTimer(duckdb_connection connection, std::uint64_t limit_ns);
  QueryTimer(const QueryTimer&) = delete;
  QueryTimer& operator=(const QueryTimer&) = delete;
  ~QueryTimer();

  // `failure` or, if the time is over, that.
  Error explained(Error failure) const;

private:
  void wait(const std::stop_token& stop, duckdb_connection connection);

  std::uint64_t limit_ns_;
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  std::condition_variable_any woken_;
  std::jthread thread_; // last: it uses the others
};

} // namespace iotrail::analysis

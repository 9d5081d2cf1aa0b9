// SPDX-License-Identifier: BSD-3-Clause
//
// Ends the queries of a connection that run when a time is over.
#pragma once

#include <duckdb.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "base/result.hpp"

namespace iotrail::analysis {

// Called by another thread with the reason if a query does not end: the engine looks for the end
// between its steps, and one step may be a function of long texts. Should end the process.
using OnOverdue = std::function<void(const Error& reason)>;

class QueryTimer {
public:
  // The time begins now. `connection` must outlive the timer. `on_overdue` may be empty.
  QueryTimer(duckdb_connection connection, std::uint64_t limit_ns, OnOverdue on_overdue);
  QueryTimer(const QueryTimer&) = delete;
  QueryTimer& operator=(const QueryTimer&) = delete;
  ~QueryTimer();

  // `failure` or, if the time is over, that.
  Error explained(Error failure) const;

private:
  void wait(const std::stop_token& stop, duckdb_connection connection);
  Error reason() const;

  std::uint64_t limit_ns_;
  OnOverdue on_overdue_;
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  std::condition_variable_any woken_;
  std::jthread thread_; // last: it uses the others
};

} // namespace iotrail::analysis

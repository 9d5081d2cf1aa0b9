// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/query_timer.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace iotrail::analysis {

namespace {

// A query that begins just then forgets the interruption, so it is repeated.
constexpr std::chrono::milliseconds kAgain{10};
constexpr int kInterruptionsMost = 100; // in a second, until the query is overdue

} // namespace

QueryTimer::QueryTimer(duckdb_connection connection, std::uint64_t limit_ns, OnOverdue on_overdue)
    : limit_ns_(limit_ns), on_overdue_(std::move(on_overdue)),
      thread_([this, connection](const std::stop_token& stop) { wait(stop, connection); }) {}

QueryTimer::~QueryTimer() {
  thread_.request_stop();
}

void QueryTimer::wait(const std::stop_token& stop, duckdb_connection connection) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;
  std::chrono::nanoseconds next(std::min(limit_ns_, kMost));
  std::unique_lock lock(mutex_);
  for (int interruptions = 0;
       !woken_.wait_for(lock, stop, next, [] { return false; }) && !stop.stop_requested();
       ++interruptions) {
    is_over_ = true;
    if (interruptions == kInterruptionsMost && on_overdue_)
      on_overdue_(reason());
    duckdb_interrupt(connection);
    next = kAgain;
  }
}

Error QueryTimer::explained(Error failure) const {
  return is_over_ ? reason() : failure;
}

Error QueryTimer::reason() const {
  return {"the query was ended",
          fmt::format("it took longer than {:.4g} s", static_cast<double>(limit_ns_) / 1e9),
          "--time-limit sets this limit."};
}

} // namespace iotrail::analysis

// SPDX-License-Identifier: BSD-3-Clause
//
// Leaves out operations that took or moved too little (Filter::least), with all that was done for them. How long a call
// takes is known when it ends, and by then much of what it caused has been told: its events are held back until then.
// What is not known to be too little is kept: calls that go on when the recording stops, and what calls have caused that
// are not recorded themselves.
//
// A call that is kept keeps the faults inside it, and the asynchronous operations that it submitted while they go on; one of
// these that is kept keeps the call if that has not ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "capture/selection/filter.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::capture {

// What was decided of operations, for a minute: what comes of one later than that is not known to be of it.
class Decisions {
public:
  enum class Of : std::uint8_t { open, kept, left_out };

  Of of(iot_u64 op) const;
  void keep(iot_u64 op);
  void leave_out(iot_u64 op); // unless it is kept already
  void forget(std::uint64_t now_ns);

private:
  static constexpr unsigned kShift = 6; // numbers of operations lie close together: 64 share a row
  struct Row {
    std::uint64_t decided = 0;
    std::uint64_t kept = 0;
    std::uint64_t last_ns = 0;
  };
  Row& touch(iot_u64 op);

  std::unordered_map<iot_u64, Row> rows_;
  std::uint64_t now_ns_ = 0;
  std::uint64_t next_forget_ns_ = 0;
};

// For one source; not for several threads at once.
class HoldBack {
public:
  static constexpr std::size_t kMostHeld = 1U << 18U; // events, of 32 MiB; beyond, they are kept

  void configure(const Least& least) { least_ = least; }
  bool is_on() const { return least_.is_set(); }

  // Appends the event, which has the ids of the trace, to the writer: now, later or never.
  void take(const iot_event& event, store::TraceWriter& writer) {
    if (is_on() && event.op_id != 0)
      judge(event, writer);
    else
      writer.append(event);
  }
  // All that arose before `now_ns` has been taken: what is still held of an operation that began long enough before is kept.
  void keep_slow(std::uint64_t now_ns, store::TraceWriter& writer);
  // Nothing more comes.
  void keep_all(store::TraceWriter& writer);

  std::uint64_t left_out() const { return left_out_; } // events, for good
  std::uint64_t held() const { return held_events_; }

private:
  struct Held {
    alignas(8) std::array<std::byte, 128> bytes;
  };
  struct Waiting {
    std::uint64_t first_ns = 0;
    std::vector<Held> events;
  };

  void judge(const iot_event& event, store::TraceWriter& writer);
  void decide(const iot_event& end, store::TraceWriter& writer);
  void keep(iot_u64 op, store::TraceWriter& writer);
  void place(const iot_event& event, store::TraceWriter& writer);
  void hold(iot_u64 op, const iot_event& event, store::TraceWriter& writer);
  void release(iot_u64 op, store::TraceWriter& writer);
  bool is_enough(const iot_event& end) const;

  Least least_;
  Decisions decisions_;
  std::unordered_map<iot_u64, Waiting> waiting_; // by the operation whose end decides
  std::uint64_t held_events_ = 0;
  std::uint64_t left_out_ = 0;
};

} // namespace iotrail::capture

// SPDX-License-Identifier: BSD-3-Clause
//
// Excludes operations that were too short or moved too little (Filter::least), with all their
// effects. A call's duration is known only at its end, after many of its effects: their events are
// deferred until then. Undecided events are kept: unfinished calls at the end of the recording, and
// effects of calls that are not recorded themselves.
//
// A kept call keeps the faults inside it, and the asynchronous operations that it submitted and
// that are still in flight. Such an operation, if kept, keeps the call if that has not ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "capture/selection/filter.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::capture {

// The event is an operation, written at its end.
constexpr bool ends_operation(const schema::Event& event) {
  return event.layer == schema::Layer::app || event.layer == schema::Layer::syscall ||
         event.id == IOT_KIND_async_operation || event.id == IOT_KIND_fault_file;
}

// Decisions about operations, for one minute: an event that comes later is not attributed to its
// operation.
class Decisions {
public:
  enum class Of : std::uint8_t { open, kept, left_out };

  Of of(iot_u64 op) const;
  void keep(iot_u64 op);
  void leave_out(iot_u64 op); // unless it is kept already
  void forget(std::uint64_t now_ns);

private:
  static constexpr unsigned kShift = 6; // operation numbers are close together: 64 share a row
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

// For one source; not thread-safe.
class DeferredFilter {
public:
  static constexpr std::size_t kMostHeld = 1U << 18U; // events, of 32 MiB; further ones are kept

  void configure(const Thresholds& thresholds) { thresholds_ = thresholds; }
  bool is_on() const { return thresholds_.is_set(); }

  // Appends the event, which has the ids of the trace, to the writer: now, later or never.
  void take(const iot_event& event, store::TraceWriter& writer) {
    if (is_on() && event.op_id != 0)
      judge(event, writer);
    else
      writer.append(event);
  }
  // All events before `now_ns` have been taken: keeps the deferred events of operations that began
  // long enough before.
  void keep_slow(std::uint64_t now_ns, store::TraceWriter& writer);
  // Call it after the last event.
  void keep_all(store::TraceWriter& writer);

  std::uint64_t left_out() const { return left_out_; } // excluded events
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

  Thresholds thresholds_;
  Decisions decisions_;
  std::unordered_map<iot_u64, Waiting> waiting_; // by the operation that decides at its end
  std::uint64_t held_events_ = 0;
  std::uint64_t left_out_ = 0;
};

} // namespace iotrail::capture

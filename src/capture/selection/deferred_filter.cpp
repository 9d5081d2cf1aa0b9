// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/deferred_filter.hpp"

#include <algorithm>
#include <cstring>

#include "schema.hpp"

namespace iotrail::capture {
namespace {

constexpr std::uint64_t kRememberedNs = 60'000'000'000;
constexpr std::uint64_t kForgetEveryNs = 10'000'000'000;

// The fields with the duration and the size in the event that ends an operation. Offset 0: no such
// field.
struct Ending {
  std::uint16_t size_bytes = 0; // of the record; 0: no such event
  std::uint16_t duration = 0;
  std::uint16_t bytes = 0;
  std::uint16_t result = 0;
  bool ends_operation = false;
};

constexpr Ending ending_of(const schema::Event& event) {
  Ending ending{.size_bytes = event.size_bytes, .ends_operation = ends_operation(event)};
  for (const schema::Field& field : event.fields) {
    if (field.role == schema::Role::duration)
      ending.duration = field.offset;
    if (field.role == schema::Role::bytes)
      ending.bytes = field.offset;
    if (schema::is_result(field.meaning))
      ending.result = field.offset;
  }
  return ending;
}

using Endings = std::array<Ending, IOT_LAYER_COUNT << 8U>;

constexpr Endings make_endings() {
  Endings endings{};
  for (const schema::Event& event : schema::kEvents)
    if (!event.is_dictionary())
      endings.at(event.id) = ending_of(event);
  return endings;
}

constexpr Endings kEndings = make_endings();

const Ending& ending_of(const iot_event& event) {
  static constexpr Ending kNone{};
  return event.kind < kEndings.size() ? kEndings[event.kind] : kNone;
}

std::int64_t field_at(const iot_event& event, std::uint16_t offset) {
  std::int64_t value = 0;
  if (offset != 0)
    std::memcpy(&value, reinterpret_cast<const std::byte*>(&event) + offset, sizeof value);
  return value;
}

} // namespace

Decisions::Row& Decisions::touch(iot_u64 op) {
  Row& row = rows_[op >> kShift];
  row.last_ns = now_ns_;
  row.decided |= 1ULL << (op & 63U);
  return row;
}

Decisions::Of Decisions::of(iot_u64 op) const {
  const auto row = rows_.find(op >> kShift);
  const std::uint64_t bit = 1ULL << (op & 63U);
  if (row == rows_.end() || (row->second.decided & bit) == 0)
    return Of::open;
  return (row->second.kept & bit) != 0 ? Of::kept : Of::left_out;
}

void Decisions::keep(iot_u64 op) {
  touch(op).kept |= 1ULL << (op & 63U);
}

void Decisions::leave_out(iot_u64 op) {
  touch(op);
}

void Decisions::forget(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  if (now_ns < next_forget_ns_)
    return;
  next_forget_ns_ = now_ns + kForgetEveryNs;
  std::erase_if(rows_,
                [&](const auto& row) { return row.second.last_ns + kRememberedNs < now_ns; });
}

bool DeferredFilter::is_enough(const iot_event& end) const {
  const Ending& ending = ending_of(end);
  if (field_at(end, ending.result) == IOT_UNFINISHED)
    return true;
  const auto duration_ns = static_cast<std::uint64_t>(field_at(end, ending.duration));
  const std::int64_t bytes = field_at(end, ending.bytes);
  return duration_ns >= thresholds_.latency_ns &&
         static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)) >= thresholds_.bytes;
}

void DeferredFilter::judge(const iot_event& event, store::TraceWriter& writer) {
  const Ending& ending = ending_of(event);
  if (ending.size_bytes == 0 || ending.size_bytes > sizeof(Held))
    return writer.append(event);
  if (ending.ends_operation)
    decide(event, writer);
  place(event, writer);
}

void DeferredFilter::decide(const iot_event& end, store::TraceWriter& writer) {
  if (is_enough(end)) {
    keep(end.op_id, writer);
    if (end.parent_op != 0 && decisions_.of(end.parent_op) == Decisions::Of::open)
      keep(end.parent_op, writer);
    return;
  }
  decisions_.leave_out(end.op_id);
  release(end.op_id, writer);
}

void DeferredFilter::keep(iot_u64 op, store::TraceWriter& writer) {
  decisions_.keep(op);
  release(op, writer);
}

// Writes the events that waited for the decision on the operation.
void DeferredFilter::release(iot_u64 op, store::TraceWriter& writer) {
  const auto waiting = waiting_.extract(op);
  if (waiting.empty())
    return;
  held_events_ -= waiting.mapped().events.size();
  for (const Held& held : waiting.mapped().events)
    place(reinterpret_cast<const iot_event&>(held), writer);
}

void DeferredFilter::place(const iot_event& event, store::TraceWriter& writer) {
  const Decisions::Of own = decisions_.of(event.op_id);
  const Decisions::Of parent =
      event.parent_op == 0 ? Decisions::Of::left_out : decisions_.of(event.parent_op);
  if (own == Decisions::Of::kept || parent == Decisions::Of::kept)
    writer.append(event);
  else if (own == Decisions::Of::open)
    hold(event.op_id, event, writer);
  else if (parent == Decisions::Of::open)
    hold(event.parent_op, event, writer);
  else
    ++left_out_;
}

void DeferredFilter::hold(iot_u64 op, const iot_event& event, store::TraceWriter& writer) {
  if (held_events_ == kMostHeld) {
    decisions_.keep(op);
    release(op, writer);
    return writer.append(event);
  }
  Waiting& waiting = waiting_[op];
  if (waiting.events.empty())
    waiting.first_ns = event.ts_ns;
  waiting.first_ns = std::min<std::uint64_t>(waiting.first_ns, event.ts_ns);
  std::memcpy(waiting.events.emplace_back().bytes.data(), &event, ending_of(event).size_bytes);
  ++held_events_;
}

void DeferredFilter::keep_slow(std::uint64_t now_ns, store::TraceWriter& writer) {
  decisions_.forget(now_ns);
  if (thresholds_.bytes != 0) // the size is known only at its end
    return;
  std::vector<iot_u64> slow;
  for (const auto& [op, waiting] : waiting_)
    if (waiting.first_ns + thresholds_.latency_ns <= now_ns)
      slow.push_back(op);
  for (const iot_u64 op : slow)
    keep(op, writer);
}

void DeferredFilter::keep_all(store::TraceWriter& writer) {
  while (!waiting_.empty())
    keep(waiting_.begin()->first, writer);
}

} // namespace iotrail::capture

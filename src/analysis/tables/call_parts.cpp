// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/tables/call_parts.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/functions/overlaps.hpp"
#include "analysis/tables/call_sources.hpp"
#include "analysis/tables/operation_work.hpp"
#include "base/capped_sum.hpp"
#include "store/reader/event_stream.hpp"
#include "value_text.hpp"

namespace iotrail::analysis {

namespace {

// Requests that calls waited for: in all, by the number of links, and pieces at one time. Calls of a
// forged trace, which share one number, would take hours and any memory.
constexpr std::uint64_t kRequestsOfLink = 16;
constexpr std::uint64_t kRequestsOfAny = 4U << 20U;
constexpr std::uint64_t kMostPieces = 2U << 20U;
constexpr std::size_t kMostSpare = 1024; // pieces in memory that is kept for other operations

class PartFinder {
public:
  PartFinder(const store::TraceReader& trace, std::span<const trail::Link> links)
      : trace_(trace), requests_most_(kRequestsOfAny + links.size() * kRequestsOfLink),
        work_(trace, links), reasons_(trace), sources_(sources_of(trace)),
        events_(trace, columns_of(sources_)) {
    const auto& hooks = trace.manifest().hooks;
    knows_waits_ = std::ranges::any_of(hooks, [](const store::HookReport& hook) {
      return hook.event == "sched_wait" && !hook.hook.empty();
    });
  }

  std::vector<CallPart> found() {
    while (!sources_.empty() && events_.next()) {
      close_until(events_.time_ns());
      read(sources_.find(events_.table().kind)->second);
    }
    close_until(UINT64_MAX);
    merge_parts();
    return std::move(parts_);
  }

private:
  // An operation in progress, or what is known of one before its call.
  struct Operation {
    std::uint64_t until_ns = 0;
    std::vector<Piece> pieces;
    bool has_call = false;
    bool has_phases = false;
  };

  std::uint64_t number(int column) const {
    return column < 0 ? 0 : events_.number(static_cast<std::size_t>(column));
  }

  void read(CallSource& source);
  void read_call(CallSource& source, std::uint64_t op_id, std::uint64_t until_ns);
  void read_wait(const CallSource& source);
  bool is_running(const CallSource& source);
  void add_sync(Sync sync, std::uint32_t file, std::uint64_t until_ns, Operation& operation);
  bool add_request(const DeviceWork& work, Operation& operation);
  void add_phases(const CallSource& source, std::uint64_t op_id, std::uint64_t until_ns,
                  Operation& operation);

  Operation& operation_until(std::uint64_t op_id, std::uint64_t until_ns);
  void add_piece(std::uint64_t op_id, std::uint64_t from_ns, std::uint64_t until_ns,
                 std::uint64_t what);
  void push(Operation& operation, std::uint64_t from_ns, std::uint64_t until_ns,
            std::uint64_t what);
  void close_until(std::uint64_t now_ns);
  void close(std::uint64_t op_id, const Operation& operation);
  void add_part(std::uint64_t op_id, std::size_t first, const Overlap& overlap);
  void merge_parts();

  const store::TraceReader& trace_;
  std::uint64_t requests_most_;
  OperationWork work_;
  WaitReasons reasons_;
  CallSources sources_;
  store::EventStream events_;
  bool knows_waits_ = false;
  std::uint64_t requests_ = 0;
  std::uint64_t pieces_ = 0; // of all operations in progress
  bool is_limited_ = false;
  std::unordered_map<std::uint64_t, bool> running_; // by the number of a task's state
  std::unordered_map<std::uint64_t, Operation> operations_;
  using End = std::pair<std::uint64_t, std::uint64_t>; // time and operation
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<std::vector<Piece>> spare_; // memory of closed operations
  OverlapFinder finder_;
  std::vector<Overlap> overlaps_;
  std::vector<CallPart> parts_;
};

void PartFinder::read(CallSource& source) {
  const std::uint64_t from_ns = events_.time_ns();
  const std::uint64_t until_ns = capped_sum(from_ns, number(source.duration));
  const std::uint64_t op_id = number(source.op);
  switch (source.use) {
  case Use::call:
    if (op_id != 0)
      read_call(source, op_id, until_ns);
    return;
  case Use::file_system:
    return add_piece(op_id, from_ns, until_ns, bit_of("file system"));
  case Use::wait:
    return read_wait(source);
  case Use::commit:
    add_piece(op_id, from_ns, until_ns, bit_of("journal"));
    return add_piece(number(source.parent), from_ns, until_ns, bit_of("journal"));
  }
}

void PartFinder::read_call(CallSource& source, std::uint64_t op_id, std::uint64_t until_ns) {
  const std::uint64_t from_ns = events_.time_ns();
  const bool is_system_call = source.own == bit_of("kernel") && !source.is_async &&
                              (knows_waits_ || reasons_.has_wait(op_id));
  Operation& operation = operation_until(op_id, until_ns);
  push(operation, from_ns, until_ns, is_system_call ? bit_of("system call") : source.own);
  if (!std::exchange(operation.has_call, true)) {
    work_.requests_of(op_id, [&](const DeviceWork& work) { return add_request(work, operation); });
    work_.held_back_of(op_id, [&](std::uint64_t ns) {
      push(operation, from_ns, ns, bit_of("held back"));
      return ++requests_ < requests_most_;
    });
  }
  if (source.is_async && source.result >= 0)
    add_phases(source, op_id, until_ns, operation);
  if (const Sync sync = sync_of(source, number(source.call)); sync != Sync::none)
    add_sync(sync, static_cast<std::uint32_t>(number(source.file)), until_ns, operation);
}

void PartFinder::add_phases(const CallSource& source, std::uint64_t op_id, std::uint64_t until_ns,
                            Operation& operation) {
  const std::uint64_t from_ns = events_.time_ns();
  if (static_cast<std::int64_t>(number(source.result)) == IOT_UNFINISHED ||
      std::exchange(operation.has_phases, true))
    return;
  std::uint64_t first_ns = UINT64_MAX;
  std::uint64_t last_ns = 0;
  work_.requests_of(op_id, [&](const DeviceWork& work) {
    if (work.queued_ns >= until_ns)
      return true;
    first_ns = std::min(first_ns, std::max(work.queued_ns, from_ns));
    last_ns = std::max(last_ns, std::min(until_ns, std::max({work.completed_ns, work.issued_ns,
                                                             work.queued_ns, from_ns})));
    return ++requests_ < requests_most_;
  });
  const std::uint64_t duration_ns = until_ns - from_ns;
  const std::uint64_t handed_ns = std::min(number(source.extra), duration_ns);
  const bool is_asked = first_ns != UINT64_MAX;
  const std::uint64_t before_ns = is_asked ? first_ns - from_ns : (handed_ns > 0 ? duration_ns : 0);
  const std::uint64_t submit_ns = handed_ns > 0 ? std::min(handed_ns, before_ns) : before_ns;
  const std::uint64_t submitted_ns = from_ns + submit_ns;
  const std::uint64_t worked_ns = submitted_ns + (handed_ns > 0 ? before_ns - submit_ns : 0);
  push(operation, from_ns, submitted_ns, bit_of("submit"));
  push(operation, submitted_ns, worked_ns, bit_of("worker"));
  if (is_asked)
    push(operation, last_ns, until_ns, bit_of("unreported"));
}

// A sync also waits for what others write back meanwhile: of its file, or of all files.
void PartFinder::add_sync(Sync sync, std::uint32_t file, std::uint64_t until_ns,
                          Operation& operation) {
  if (sync == Sync::file && file == 0)
    return;
  work_.write_backs(sync == Sync::all ? std::nullopt : std::optional(file), events_.time_ns(),
                    until_ns, [&](const DeviceWork& work) { return add_request(work, operation); });
}

// The times of a request, as parts. False: no more fit.
bool PartFinder::add_request(const DeviceWork& work, Operation& operation) {
  if (++requests_ >= requests_most_ || pieces_ >= kMostPieces) {
    if (!std::exchange(is_limited_, true))
      trace_.add_limit("NOT ALL PARTS OF CALLS: they waited for more requests than can be "
                       "followed.");
    return false;
  }
  const bool is_issued = work.issued_ns != 0;
  if (is_issued)
    push(operation, work.issued_ns, work.completed_ns, bit_of("device"));
  if (work.inserted_ns == 0) {
    if (is_issued)
      push(operation, work.queued_ns, work.issued_ns, bit_of("queue"));
    return true;
  }
  const std::uint64_t arrived_ns = std::max(work.inserted_ns, work.queued_ns);
  const std::uint64_t inserted_ns = is_issued ? std::min(arrived_ns, work.issued_ns) : arrived_ns;
  if (is_issued)
    push(operation, inserted_ns, work.issued_ns, bit_of("scheduler"));
  push(operation, work.queued_ns, inserted_ns, bit_of("plug"));
  return true;
}

void PartFinder::read_wait(const CallSource& source) {
  if (source.extra < 0 || source.stack < 0 || source.state < 0)
    return;
  const std::uint64_t from_ns = events_.time_ns();
  const std::uint64_t duration_ns = number(source.duration);
  const std::uint64_t runnable_ns = std::min(number(source.extra), duration_ns);
  const std::uint64_t woken_ns = capped_sum(from_ns, duration_ns - runnable_ns);
  const std::uint64_t until_ns = capped_sum(from_ns, duration_ns);
  const std::uint64_t op_id = number(source.op);
  const ReasonNumber reason =
      is_running(source) ? kNoReason : reasons_.reason(number(source.stack), op_id);
  static const std::uint64_t cpu = bit_of_reason(reason_number("cpu"));
  for (const std::uint64_t of : {op_id, number(source.parent)}) {
    if (reason != kNoReason)
      add_piece(of, from_ns, woken_ns, bit_of("wait") | bit_of_reason(reason));
    add_piece(of, woken_ns, until_ns, bit_of("wait") | cpu);
  }
}

bool PartFinder::is_running(const CallSource& source) {
  const std::uint64_t state = number(source.state);
  const auto [known, is_new] = running_.try_emplace(state, false);
  if (is_new)
    known->second =
        schema::number_text(source.table->columns[static_cast<std::size_t>(source.state)].meaning,
                            state) == "running";
  return known->second;
}

PartFinder::Operation& PartFinder::operation_until(std::uint64_t op_id, std::uint64_t until_ns) {
  const auto [found, is_new] = operations_.try_emplace(op_id);
  Operation& operation = found->second;
  if (is_new && !spare_.empty()) {
    operation.pieces = std::move(spare_.back());
    spare_.pop_back();
  }
  if (is_new || until_ns > operation.until_ns) {
    operation.until_ns = until_ns;
    ends_.emplace(until_ns, op_id);
  }
  return operation;
}

void PartFinder::add_piece(std::uint64_t op_id, std::uint64_t from_ns, std::uint64_t until_ns,
                           std::uint64_t what) {
  if (op_id != 0 && from_ns < until_ns)
    push(operation_until(op_id, until_ns), from_ns, until_ns, what);
}

void PartFinder::push(Operation& operation, std::uint64_t from_ns, std::uint64_t until_ns,
                      std::uint64_t what) {
  if (from_ns >= until_ns)
    return;
  operation.pieces.push_back({from_ns, until_ns, what});
  ++pieces_;
}

void PartFinder::close_until(std::uint64_t now_ns) {
  while (!ends_.empty() && ends_.top().first <= now_ns) {
    const auto [until_ns, op_id] = ends_.top();
    ends_.pop();
    const auto found = operations_.find(op_id);
    if (found == operations_.end() || found->second.until_ns != until_ns)
      continue;
    close(op_id, found->second);
    std::vector<Piece>& pieces = found->second.pieces;
    pieces_ -= pieces.size();
    pieces.clear();
    if (pieces.capacity() <= kMostSpare)
      spare_.push_back(std::move(pieces));
    operations_.erase(found);
  }
}

void PartFinder::close(std::uint64_t op_id, const Operation& operation) {
  if (!operation.has_call || operation.pieces.empty())
    return;
  for (const Piece& piece : operation.pieces)
    finder_.add(piece);
  finder_.find(overlaps_);
  const std::size_t first = parts_.size();
  for (const Overlap& overlap : overlaps_)
    add_part(op_id, first, overlap);
}

void PartFinder::add_part(std::uint64_t op_id, std::size_t first, const Overlap& overlap) {
  constexpr std::uint64_t kCall = bit_of("call");
  constexpr std::uint64_t kSystemCall = bit_of("system call");
  constexpr std::uint64_t kWait = bit_of("wait");
  const std::uint64_t what = overlap.what;
  if ((what & (kCall | kSystemCall | bit_of("kernel"))) == 0)
    return;
  std::uint64_t parts = what;
  if ((what & kCall) != 0)
    parts = kCall;
  else if ((what & kSystemCall) != 0 && (what & kWait) == 0)
    parts &= bit_of("file system") | kSystemCall;
  const auto step = static_cast<std::uint8_t>(std::countr_zero(parts));
  const std::uint64_t reasons = what >> kFirstReason;
  const auto reason = step != step_of("wait") || reasons == 0
                          ? kNoReason
                          : static_cast<ReasonNumber>(std::countr_zero(reasons));
  for (std::size_t i = first; i < parts_.size(); ++i)
    if (parts_[i].step == step && parts_[i].reason == reason) {
      parts_[i].ns += overlap.ns;
      return;
    }
  parts_.push_back({op_id, overlap.ns, step, reason});
}

// A forged trace has many calls of one number, which were closed one by one. Joins by the number
// would multiply their rows.
void PartFinder::merge_parts() {
  const auto key = [](const CallPart& part) {
    return std::tuple(part.op_id, part.step, part.reason);
  };
  std::ranges::sort(parts_, {}, key);
  std::size_t kept = 0;
  for (std::size_t i = 1; i < parts_.size(); ++i)
    if (key(parts_[i]) == key(parts_[kept]))
      parts_[kept].ns = capped_sum(parts_[kept].ns, parts_[i].ns);
    else
      parts_[++kept] = parts_[i];
  parts_.resize(std::min(parts_.size(), kept + 1));
}

} // namespace

std::vector<CallPart> find_call_parts(const store::TraceReader& trace,
                                      std::span<const trail::Link> links) {
  return PartFinder(trace, links).found();
}

} // namespace iotrail::analysis

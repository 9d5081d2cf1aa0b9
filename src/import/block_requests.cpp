// SPDX-License-Identifier: BSD-3-Clause
#include "import/block_requests.hpp"

#include <algorithm>
#include <utility>

namespace iotrail::import {
namespace {

constexpr std::size_t kPlacesMost = 1U << 20U;
constexpr std::size_t kLooksMost = 64; // at requests with the same place

} // namespace

void BlockRequests::wait(const Place& place, Waiting waiting) {
  if (waiting_.size() >= kPlacesMost)
    waiting_.clear();
  waiting_[place] = waiting;
}

void BlockRequests::begin(const Place& place, InFlight request) {
  if (in_flight_.size() >= kPlacesMost)
    in_flight_.clear();
  in_flight_.emplace(place, request);
}

std::optional<BlockRequests::InFlight> BlockRequests::take_in_flight(const BlockStep& step) {
  auto [at, end] = in_flight_.equal_range(place(step));
  if (at == end)
    return std::nullopt;
  auto oldest = at;
  for (std::size_t looks = 0; at != end && looks < kLooksMost; ++at, ++looks)
    if (at->second.issued_ns < oldest->second.issued_ns)
      oldest = at;
  const InFlight request = oldest->second;
  in_flight_.erase(oldest);
  return request;
}

EventRow BlockRequests::row(iot_u16 kind, const BlockStep& step) {
  EventRow row(kind);
  row.set("ts_ns", step.at_ns)
      .set("pid", step.tid)
      .set("tid", step.tid)
      .set("cpu", step.cpu)
      .set("sector", step.sector)
      .set("bytes", step.bytes)
      .set("device", step.device)
      .set("flags", step.flags);
  return row;
}

std::uint64_t BlockRequests::request_at(const BlockStep& step) {
  const auto found = waiting_.find(place(step));
  if (found == waiting_.end()) {
    wait(place(step), Waiting{step.at_ns, ++last_request_});
    return last_request_;
  }
  if (found->second.request == 0)
    found->second.request = ++last_request_;
  return found->second.request;
}

bool BlockRequests::queue(const BlockStep& step) {
  wait(place(step), Waiting{step.at_ns, 0});
  return trace_.add(
      row(IOT_KIND_block_queue, step).set("bio", ++last_bio_).set("file_bytes", ~std::uint64_t{0}));
}

bool BlockRequests::get_request(const BlockStep& step) {
  const auto found = waiting_.find(place(step));
  const std::uint64_t queued_ns = found == waiting_.end() ? step.at_ns : found->second.queued_ns;
  (void)request_at(step);
  return trace_.add(
      row(IOT_KIND_block_getrq, step).set("wait_ns", step.at_ns - std::min(step.at_ns, queued_ns)));
}

bool BlockRequests::insert(const BlockStep& step) {
  return trace_.add(row(IOT_KIND_block_insert, step).set("request", request_at(step)));
}

bool BlockRequests::issue(const BlockStep& step) {
  const std::uint64_t request = request_at(step);
  const std::uint64_t queued_ns = waiting_.at(place(step)).queued_ns;
  waiting_.erase(place(step));
  begin(place(step), InFlight{queued_ns, step.at_ns, request, step.bytes});
  return trace_.add(row(IOT_KIND_block_issue, step).set("request", request));
}

// The bio waits no more by itself. At the front, the request begins where the bio does.
bool BlockRequests::merge(const BlockStep& step, bool is_front) {
  waiting_.erase(place(step));
  if (is_front)
    if (const auto behind = waiting_.find({step.device, step.sector + step.bytes / 512});
        behind != waiting_.end()) {
      const Waiting request = behind->second;
      waiting_.erase(behind);
      wait(place(step), request);
    }
  return trace_.add(
      row(IOT_KIND_block_merge, step).set("merge", is_front ? IOT_merge_front : IOT_merge_back));
}

bool BlockRequests::requeue(const BlockStep& step) {
  std::uint64_t request = 0;
  if (const auto issued = take_in_flight(step)) {
    request = issued->request;
    wait(place(step), Waiting{issued->queued_ns, request});
  }
  return trace_.add(row(IOT_KIND_block_requeue, step).set("request", request));
}

// A disk without requests completes bios: these are issued when they are queued.
std::optional<BlockRequests::InFlight> BlockRequests::take_issued(const BlockStep& step) {
  if (auto request = take_in_flight(step))
    return request;
  if (const auto bio = waiting_.find(place(step)); bio != waiting_.end()) {
    const Waiting queued = bio->second;
    waiting_.erase(bio);
    return InFlight{queued.queued_ns, queued.queued_ns, 0, step.bytes};
  }
  return std::nullopt;
}

bool BlockRequests::complete(const BlockStep& step) {
  auto request = take_issued(step);
  if (!request) {
    trace_.left_out("completions of requests from before the trace");
    return true;
  }
  const std::uint64_t issued_ns = std::min(request->issued_ns, step.at_ns);
  if (step.bytes < request->bytes && step.error == 0 && step.bytes > 0) { // a part of it
    InFlight rest = *request;
    rest.bytes -= step.bytes;
    begin({step.device, step.sector + step.bytes / 512}, rest);
  }
  EventRow done = row(IOT_KIND_block_complete, step);
  done.set("ts_ns", issued_ns)
      .set("duration_ns", step.at_ns - issued_ns)
      .set("queue_ns", issued_ns - std::min(issued_ns, request->queued_ns))
      .set("request", request->request)
      .set("error", static_cast<std::uint64_t>(std::int64_t{step.error}));
  return trace_.add(done);
}

} // namespace iotrail::import

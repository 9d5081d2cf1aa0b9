// SPDX-License-Identifier: BSD-3-Clause
//
// Steps of block requests, as blktrace and the kernel's tracepoints report them, become events. A
// completion finds its request by device and sector, as those formats name no request. Memory is
// bounded: a million requests that never complete are forgotten.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "import/trace_builder.hpp"

namespace iotrail::import {

struct BlockStep {
  std::uint64_t at_ns = 0;
  std::uint64_t sector = 0;
  std::uint32_t bytes = 0;
  std::uint32_t device = 0;
  std::uint32_t flags = 0; // as in the value tables `block` and `block_hint`
  std::uint32_t tid = 0;
  std::uint16_t cpu = IOT_CPU_UNKNOWN;
  std::int32_t error = 0; // of a completion: 0 or a negative errno
};

class BlockRequests {
public:
  explicit BlockRequests(TraceBuilder& trace) : trace_(trace) {}

  // Each is false if the time is impossible.
  bool queue(const BlockStep& step);
  bool get_request(const BlockStep& step);
  bool insert(const BlockStep& step);
  bool issue(const BlockStep& step);
  bool merge(const BlockStep& step, bool is_front);
  bool requeue(const BlockStep& step);
  // Left out if the request was issued before the begin of the trace: its duration is unknown.
  bool complete(const BlockStep& step);

  // A row with what all of them share.
  static EventRow row(iot_u16 kind, const BlockStep& step);

private:
  struct Place {
    std::uint32_t device;
    std::uint64_t sector;
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& place) const {
      return std::hash<std::uint64_t>{}(place.sector * 0x9e3779b97f4a7c15U + place.device);
    }
  };
  struct Waiting {
    std::uint64_t queued_ns;
    std::uint64_t request; // 0: it has none yet
  };
  struct InFlight {
    std::uint64_t queued_ns;
    std::uint64_t issued_ns;
    std::uint64_t request;
    std::uint32_t bytes;
  };

  static Place place(const BlockStep& step) { return {step.device, step.sector}; }
  void wait(const Place& place, Waiting waiting);
  void begin(const Place& place, InFlight request);
  std::uint64_t request_at(const BlockStep& step);               // gives it one
  std::optional<InFlight> take_in_flight(const BlockStep& step); // the oldest there
  std::optional<InFlight> take_issued(const BlockStep& step);

  TraceBuilder& trace_;
  std::unordered_map<Place, Waiting, PlaceHash> waiting_;
  std::unordered_multimap<Place, InFlight, PlaceHash> in_flight_; // flushes have no sector
  std::uint64_t last_request_ = 0;
  std::uint64_t last_bio_ = 0;
};

} // namespace iotrail::import

// SPDX-License-Identifier: BSD-3-Clause
//
// Requests of a cache as events: reads of a file in which each object has a place of its own.
#pragma once

#include <cstdint>

#include "import/trace_builder.hpp"

namespace iotrail::import {

class ObjectRequests {
public:
  ObjectRequests(const Input& input, TraceBuilder& trace)
      : trace_(trace), file_(trace.file(input.path())) {}

  // Requests of the same second keep their order: each is a nanosecond later. False: the request
  // has no bytes.
  bool add(std::uint64_t at_s, std::uint64_t object, std::uint64_t bytes) {
    if (bytes == 0 || bytes > kBytesMost)
      return false;
    const std::uint64_t second_ns = at_s * 1'000'000'000;
    last_ns_ = second_ns > last_ns_ || is_first_ ? second_ns : last_ns_ + 1;
    is_first_ = false;
    EventRow row(IOT_KIND_syscall_read);
    row.set("ts_ns", last_ns_)
        .set("op_id", trace_.next_op())
        .set("offset", place_of(object))
        .set("bytes_requested", bytes)
        .set("result", bytes)
        .set("file", file_)
        .set("call", IOT_syscall_pread64);
    return trace_.add(row);
  }

private:
  static constexpr std::uint64_t kBytesMost = std::uint64_t{1} << 31U;

  // Neighbours in number are no neighbours in place: an object of several pages touches no other
  // object. Different numbers below 2^35 have different places, and files have no more pages. Of a
  // million random numbers, about 15 meet the place of another one.
  static std::uint64_t place_of(std::uint64_t object) {
    constexpr std::uint64_t kPages = std::uint64_t{1} << 35U;
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
    return object * kOdd % kPages * 4096;
  }

  TraceBuilder& trace_;
  std::uint32_t file_;
  std::uint64_t last_ns_ = 0;
  bool is_first_ = true;
};

} // namespace iotrail::import

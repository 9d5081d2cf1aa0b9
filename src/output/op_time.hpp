// SPDX-License-Identifier: BSD-3-Clause
//
// Where the time of one operation went: parts that neither overlap nor leave a hole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace iotrail::output {

struct Span {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;

  std::uint64_t length_ns() const { return end_ns > begin_ns ? end_ns - begin_ns : 0; }
};

// The time within `whole` that lies in at least one of the spans.
std::uint64_t covered_ns(std::vector<Span> spans, const Span& whole);

// What went on in its course; of two at once, the one that is named first counts.
struct OpTime {
  std::vector<Span> device;  // a device worked for it
  std::vector<Span> queue;   // a bio of it waited for its device
  std::vector<Span> journal; // a journal's commit that it needed was under way
};

struct TimeShares {
  std::uint64_t device_ns = 0;
  std::uint64_t queue_ns = 0;
  std::uint64_t journal_ns = 0;
  std::uint64_t rest_ns = 0;
};

// The shares add up to the length of `whole`.
TimeShares share_time(const OpTime& time, const Span& whole);

// "Of 5.20 ms: device 1.20 ms (23.1 %), ..."
std::string time_text(const OpTime& time, const Span& whole);

} // namespace iotrail::output

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

// When its task did not run, by what it waited for.
struct Waits {
  std::string reason;
  std::vector<Span> spans;
};

// What went on in its course; of two at once, the one that is named first counts.
struct OpTime {
  std::vector<Span> device;  // a device worked for it
  std::vector<Span> queue;   // a bio of it waited for its device
  std::vector<Span> journal; // a journal's commit that it needed was under way
  std::vector<Waits> waits;
  // Of an asynchronous operation, on which no task works from its begin to its end.
  std::vector<Span> submit;      // until it asked a device, or a worker of the kernel had it
  std::vector<Span> worker;      // until that asked a device
  std::vector<Span> untold;      // from the last answer until the program could see the end
  std::vector<Span> calls;       // of a call into the C library: system calls made in it
  bool is_library_known = false; // these are all that there were
  // The waits are all that there were: the rest of the time its task ran, whatever else went on.
  bool are_waits_known = false;
};

struct TimeShare {
  std::string what;
  std::uint64_t ns = 0;
};

// Those that took time, in the order in which they count. They add up to the length of `whole`.
std::vector<TimeShare> share_time(const OpTime& time, const Span& whole);

// "Of 5.20 ms: the device 1.20 ms (23.1 %), ..."
std::string time_text(const OpTime& time, const Span& whole);

} // namespace iotrail::output

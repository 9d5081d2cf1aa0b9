// SPDX-License-Identifier: BSD-3-Clause
//
// The I/O of a trace as stacks of frames, for flame graphs: program, call, file, cause, device. Their
// weights add up to the time of all calls on files, or to the bytes that devices completed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "export/trace_format.hpp"

namespace iotrail::output {

struct Stack {
  std::vector<std::string> frames; // the program first; printable, none is empty
  std::uint64_t weight;            // nanoseconds or bytes, not 0
  std::uint64_t count;             // of calls, or of ranges of bytes
};

// In the order of their frames.
Result<void> for_each_stack(const TraceInput& input, const Sink& sink,
                            const std::function<void(const Stack&)>& each);

inline std::string_view unit_of(Weight weight) {
  return weight == Weight::time ? "nanoseconds" : "bytes";
}

} // namespace iotrail::output

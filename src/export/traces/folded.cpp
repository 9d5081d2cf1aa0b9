// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "export/model/stacks.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {
namespace {

// A semicolon ends a frame. Readers find the weight behind the last blank.
std::string folded_frame(std::string frame) {
  std::ranges::replace(frame, ';', ':');
  return frame;
}

Result<void> write_folded(const TraceInput& input, Sink& sink) {
  return for_each_stack(input, sink, [&](const Stack& stack) {
    for (std::size_t i = 0; i < stack.frames.size(); ++i) {
      if (i > 0)
        sink.put(';');
      sink.put(folded_frame(stack.frames[i]));
    }
    sink.print(" {}\n", stack.weight);
  });
}

} // namespace

extern const TraceFormat kTraceFormatFolded = {
    .name = "folded",
    .suffix = "folded",
    .doc = "stacks for flamegraph.pl, inferno and speedscope",
    .omits = "times of single calls, and all but the sum of each stack",
    .has_weight = true,
    .write = write_folded,
};

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
//
// The trail of one operation as a graph: the program, its call, what the call spent its time on, the
// bytes that it caused, and the devices.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "export/trace_format.hpp"

namespace iotrail::output {

struct TrailGraph {
  struct Edge {
    std::size_t from; // nodes by number
    std::size_t to;
    std::string label;
  };
  std::vector<std::string> nodes; // their texts, printable
  std::vector<Edge> edges;
};

// Fails if the trace has no such operation.
Result<TrailGraph> trail_graph(const TraceInput& input, const Sink& sink);

} // namespace iotrail::output

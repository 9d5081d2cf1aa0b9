// SPDX-License-Identifier: BSD-3-Clause
#include "export/model/trail_graph.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {
namespace {

void put_dot_text(Sink& sink, std::string_view text) {
  sink.put('"');
  for (const char c : text) {
    if (c == '"' || c == '\\')
      sink.put('\\');
    sink.put(c);
  }
  sink.put('"');
}

Result<void> write_dot(const TraceInput& input, Sink& sink) {
  const auto graph = trail_graph(input, sink);
  if (!graph)
    return std::unexpected(graph.error());
  sink.put("digraph trail {\n  node [shape=box];\n");
  for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
    sink.print("  n{} [label=", i);
    put_dot_text(sink, graph->nodes[i]);
    sink.put("];\n");
  }
  for (const TrailGraph::Edge& edge : graph->edges) {
    sink.print("  n{} -> n{} [label=", edge.from, edge.to);
    put_dot_text(sink, edge.label);
    sink.put("];\n");
  }
  sink.put("}\n");
  return {};
}

} // namespace

extern const TraceFormat kTraceFormatDot = {
    .name = "dot",
    .suffix = "dot",
    .doc = "the trail of one operation for Graphviz",
    .omits = "all operations but one; --op chooses it",
    .has_op = true,
    .write = write_dot,
};

} // namespace iotrail::output

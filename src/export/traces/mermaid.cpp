// SPDX-License-Identifier: BSD-3-Clause
#include <cctype>

#include "export/model/trail_graph.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {
namespace {

// Characters with a meaning in the language become their numbers.
void put_mermaid_text(Sink& sink, std::string_view text) {
  sink.put('"');
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0x80 || std::isalnum(static_cast<unsigned char>(c)) != 0 ||
        std::string_view(" /._-:,+").contains(c))
      sink.put(c);
    else
      sink.print("#{};", static_cast<int>(c));
  sink.put('"');
}

Result<void> write_mermaid(const TraceInput& input, Sink& sink) {
  const auto graph = trail_graph(input, sink);
  if (!graph)
    return std::unexpected(graph.error());
  sink.put("flowchart TD\n");
  for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
    sink.print("  n{}[", i);
    put_mermaid_text(sink, graph->nodes[i]);
    sink.put("]\n");
  }
  for (const TrailGraph::Edge& edge : graph->edges) {
    sink.print("  n{} -->|", edge.from);
    put_mermaid_text(sink, edge.label);
    sink.print("| n{}\n", edge.to);
  }
  return {};
}

} // namespace

extern const TraceFormat kTraceFormatMermaid = {
    .name = "mermaid",
    .suffix = "mmd",
    .doc = "the trail of one operation for Mermaid, as in Markdown on GitHub",
    .omits = "all operations but one; --op chooses it",
    .has_op = true,
    .write = write_mermaid,
};

} // namespace iotrail::output

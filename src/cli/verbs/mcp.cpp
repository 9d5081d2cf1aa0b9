// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "cli/options/limit_options.hpp"
#include "cli/verb.hpp"
#include "serve/mcp/session.hpp"

namespace iotrail::cli {
namespace {

struct McpRequest {
  std::vector<std::string> traces;
  LimitWords limits;
};

Result<int> mcp(const McpRequest& request) {
  constexpr std::uint64_t kMostMs = 3'600'000;
  const auto given = parse_limits(request.limits);
  if (!given)
    return std::unexpected(given.error());
  auto traces = iotrail::serve::Traces::of(request.traces);
  if (!traces)
    return std::unexpected(traces.error());
  iotrail::serve::ToolContext context{.traces = std::move(*traces)};
  if (given->time_ns != 0) {
    context.limits.time_ns = given->time_ns;
    context.limit_ms =
        static_cast<int>(std::clamp<std::uint64_t>(given->time_ns / 1'000'000, 1, kMostMs));
  } else {
    context.limits.time_ns = static_cast<std::uint64_t>(context.limit_ms) * 1'000'000;
  }
  if (given->memory_bytes != 0)
    context.limits.memory_bytes = given->memory_bytes;
  const auto ended = iotrail::serve::run_session(STDIN_FILENO, STDOUT_FILENO, context);
  return ended ? Result<int>(0) : std::unexpected(ended.error());
}

Action declare_mcp(CLI::App& app, const Trailing&) {
  auto request = std::make_shared<McpRequest>();
  app.add_option("trace", request->traces,
                 "Traces by path or name, or directories with traces; default: the repository")
      ->type_name("TRACE");
  declare_limits(app, request->limits, "End an answer that takes longer (10s); default: 2m",
                 "Memory that an answer may take (512M) before it uses the disk; default: 1G");
  app.footer(
      "Speaks JSON-RPC on standard input and output, a message a line, until the input ends. "
      "The tools are list_traces, report, findings, explain, query and schema. They only "
      "read, and reach no other file. docs/for-agents.md describes them.");
  return [request](const Console&) { return mcp(*request); };
}

} // namespace

extern const Verb kVerbMcp = {
    .name = "mcp",
    .summary = "Answer questions about traces for assistants, by the Model Context Protocol",
    .group = Group::read,
    .rank = 10,
    .declare = declare_mcp,
    .examples = "  iotrail mcp                   # all traces of the repository\n"
                "  iotrail mcp build.iotrail\n",
};

} // namespace iotrail::cli

// SPDX-License-Identifier: BSD-3-Clause
#include <charconv>
#include <memory>

#include "cli/messages.hpp"
#include "cli/options/limit_options.hpp"
#include "cli/verb.hpp"
#include "serve/http/server.hpp"
#include "text/sink.hpp"

namespace iotrail::cli {
namespace {

struct ServeRequest {
  std::vector<std::string> traces;
  std::string port;
  LimitWords limits;
};

Result<int> parse_port(const std::string& text) {
  int port = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, port);
  if (text.empty())
    return 0;
  if (problem != std::errc{} || stopped != end || port < 1 || port > 65535)
    return fail_usage(fmt::format("--port: '{}' is no port", text), {},
                      "A port is a number from 1 to 65535; without --port, iotrail takes one that "
                      "is free.");
  return port;
}

Result<int> serve(const Console& console, const ServeRequest& request) {
  const auto port = parse_port(request.port);
  if (!port)
    return std::unexpected(port.error());
  const auto given = parse_limits(request.limits);
  if (!given)
    return std::unexpected(given.error());
  iotrail::serve::Limits limits;
  limits.time_ns = given->time_ns != 0 ? given->time_ns : limits.time_ns;
  limits.memory_bytes = given->memory_bytes != 0 ? given->memory_bytes : limits.memory_bytes;
  auto traces = iotrail::serve::Traces::of(request.traces);
  if (!traces)
    return std::unexpected(traces.error());
  auto server = iotrail::serve::Server::open(std::move(*traces), limits, *port);
  if (!server)
    return std::unexpected(server.error());
  output::Sink sink(console.out.file);
  sink.print("{}\n", server->address());
  if (const auto written = sink.finish(); !written)
    return std::unexpected(written.error());
  print_message(console.err,
                "Open this address in a browser on this machine. Everyone who has it can "
                "read the traces. Ctrl-C ends.");
  const auto ended = server->run();
  return ended ? Result<int>(0) : std::unexpected(ended.error());
}

Action declare_serve(CLI::App& app, const Trailing&) {
  auto request = std::make_shared<ServeRequest>();
  app.add_option("trace", request->traces,
                 "Traces by path or name, or directories with traces; default: the repository")
      ->type_name("TRACE");
  app.add_option("--port", request->port, "Port of 127.0.0.1; default: one that is free")
      ->type_name("PORT");
  declare_limits(app, request->limits, "End a query in SQL that takes longer (10s); default: 10s",
                 "Memory that an answer may take (512M) before it uses the disk; default: 1G");
  app.footer("Prints the address, which has a random token: without it, every request is refused. "
             "Only this machine can connect, and nothing can be changed. Each trace has the page "
             "of `report --html`, a closer look at a selected time, and a field for SQL that only "
             "reads. A running recording can be shown: the page is made again on each load.");
  return [request](const Console& console) { return serve(console, *request); };
}

} // namespace

extern const Verb kVerbServe = {
    .name = "serve",
    .summary = "Show traces in a browser on this machine, with SQL",
    .group = Group::read,
    .rank = 9,
    .declare = declare_serve,
    .examples = "  iotrail serve                 # all traces of the repository\n"
                "  iotrail serve latest --port 8080\n"
                "  iotrail serve traces/ build.iotrail\n",
};

} // namespace iotrail::cli

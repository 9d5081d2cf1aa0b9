// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "cli/messages.hpp"
#include "cli/open_trace.hpp"
#include "cli/verb.hpp"
#include "export/script.hpp"
#include "report/coverage.hpp"

namespace iotrail::cli {
namespace {

Result<int> script(const Console& console, const std::string& name,
                   const std::vector<std::string>& events) {
  auto trace = open_trace(name);
  if (!trace)
    return std::unexpected(trace.error());
  std::vector<iot_u16> kinds;
  for (const std::string& event : events) {
    const auto table = find_table(**trace, event);
    if (!table)
      return std::unexpected(table.error());
    kinds.push_back((*table)->kind);
  }
  auto lines = output::write_script(**trace, console.out.file, kinds);
  if (!lines)
    return std::unexpected(lines.error());
  print_warnings(console.err, **trace);
  if (*lines == 0 && output::has_sums(**trace))
    print_message(console.err,
                  "iotrail: the trace has sums of its events alone: `iotrail report` shows them");
  for (const iot_u16 kind : kinds)
    print_not_recorded(console.err, **trace, *(*trace)->table(kind));
  return 0;
}

Action declare_script(CLI::App& app, const Trailing&) {
  auto name = std::make_shared<std::string>();
  auto events = std::make_shared<std::vector<std::string>>();
  app.add_option("trace", *name, kTraceHelp)->type_name("TRACE")->required();
  app.add_option("-e,--event", *events, "Only these events (syscall_read), separated by commas")
      ->type_name("EVENT")
      ->delimiter(',');
  return [name, events](const Console& console) { return script(console, *name, *events); };
}

} // namespace

extern const Verb kVerbScript = {
    .name = "script",
    .summary = "Print events, one a line, in the order of time",
    .group = Group::read,
    .rank = 3,
    .declare = declare_script,
    .examples = "  iotrail script latest\n"
                "  iotrail script latest -e syscall_read,syscall_write\n",
};

} // namespace iotrail::cli

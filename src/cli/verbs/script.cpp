// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "cli/messages.hpp"
#include "cli/open_trace.hpp"
#include "cli/options/selection.hpp"
#include "cli/verb.hpp"
#include "export/script.hpp"
#include "report/coverage.hpp"
#include "text/printable.hpp"

namespace iotrail::cli {
namespace {

struct ScriptRequest {
  std::string trace;
  std::vector<std::string> events;
  SelectionOptions only;
};

Result<output::ScriptSelection> script_selection(const SelectionOptions& only) {
  const auto selection = selection_of(only);
  if (!selection)
    return std::unexpected(selection.error());
  return output::ScriptSelection{.since_ns = selection->since_ns,
                                 .until_ns = selection->until_ns,
                                 .process = only.process,
                                 .file = only.file,
                                 .operations = only.operations};
}

Result<int> script(const Console& console, const ScriptRequest& request) {
  const auto selection = script_selection(request.only);
  if (!selection)
    return std::unexpected(selection.error());
  auto trace = open_trace(request.trace);
  if (!trace)
    return std::unexpected(trace.error());
  std::vector<iot_u16> kinds;
  for (const std::string& event : request.events) {
    const auto table = find_table(**trace, event);
    if (!table)
      return std::unexpected(table.error());
    kinds.push_back((*table)->kind);
  }
  auto lines = output::write_script(**trace, console.out.file, kinds, *selection);
  if (!lines)
    return std::unexpected(lines.error());
  print_warnings(console.err, **trace);
  if (*lines == 0 && output::has_sums(**trace))
    print_message(console.err,
                  "iotrail: the trace has sums of its events alone: `iotrail report` shows them");
  else if (*lines == 0 && !selection->is_all())
    print_message(console.err, fmt::format("iotrail: no event matches {}",
                                           output::printable(selection_text(request.only))));
  for (const iot_u16 kind : kinds)
    print_not_recorded(console.err, **trace, *(*trace)->table(kind));
  return 0;
}

Action declare_script(CLI::App& app, const Trailing&) {
  auto request = std::make_shared<ScriptRequest>();
  app.add_option("trace", request->trace, kTraceHelp)->type_name("TRACE")->required();
  app.add_option("-e,--event", request->events,
                 "Only these events (syscall_read), separated by commas")
      ->type_name("EVENT")
      ->delimiter(',');
  declare_operation_choice(app, request->only);
  declare_subjects(app, request->only);
  declare_period(app, request->only);
  app.footer("With --operation, the events that those operations caused are printed too.");
  return [request](const Console& console) { return script(console, *request); };
}

} // namespace

extern const Verb kVerbScript = {
    .name = "script",
    .summary = "Print events, one a line, in the order of time",
    .group = Group::read,
    .rank = 3,
    .declare = declare_script,
    .examples = "  iotrail script latest\n"
                "  iotrail script latest -e syscall_read,syscall_write\n"
                "  iotrail script latest --operation fsync --file '*.db' --since 2s\n",
};

} // namespace iotrail::cli

// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "cli/messages.hpp"
#include "cli/open_trace.hpp"
#include "cli/options/format_option.hpp"
#include "cli/output_file.hpp"
#include "cli/verb.hpp"
#include "export/export.hpp"

namespace iotrail::cli {
namespace {

struct ExportTarget {
  std::string trace;
  std::string format;
  std::string table;
  std::string path;
  bool raw = false;
};

Result<std::uint64_t> export_to_file(const Stream& out, const store::TraceReader& trace,
                                     const ExportTarget& target,
                                     const output::ExportOptions& options) {
  if (target.table.empty())
    return write_output(out, target.path, [&](std::FILE* file) {
      return output::export_stream(trace, options, file);
    });
  const auto table = find_table(trace, target.table);
  if (!table)
    return std::unexpected(table.error());
  return write_output(out, target.path, [&](std::FILE* file) {
    return output::export_table(trace, **table, options, file);
  });
}

Result<int> export_trace(const Console& console, const ExportTarget& target) {
  auto format = parse_format(target.format);
  if (!format)
    return std::unexpected(format.error());
  const bool is_directory = target.table.empty() && (*format)->gives == output::Gives::file_a_table;
  if (is_directory && target.path.empty())
    return fail_usage("export of a whole trace as " + target.format + " needs a directory",
                      "each table becomes a file of its own",
                      "Give -o DIRECTORY, or one table with --table.");
  auto trace = open_trace(target.trace);
  if (!trace)
    return std::unexpected(trace.error());
  const output::ExportOptions options{.format = *format, .raw = target.raw};
  auto rows = is_directory ? output::export_directory(**trace, options, target.path)
                           : export_to_file(console.out, **trace, target, options);
  if (!rows)
    return std::unexpected(rows.error());
  print_warnings(console.err, **trace);
  if (!target.table.empty())
    print_not_recorded(console.err, **trace, *(*trace)->table(target.table));
  return 0;
}

Action declare_export(CLI::App& app, const Trailing&) {
  auto target = std::make_shared<ExportTarget>();
  app.add_option("trace", target->trace, kTraceHelp)->type_name("TRACE")->required();
  app.add_option("--to", target->format, format_names())->type_name("FORMAT")->required();
  app.add_option("--table", target->table, "Only this event or dictionary table; default: all")
      ->type_name("EVENT");
  app.add_option("-o,--output", target->path,
                 "File to write, or directory; default: standard output")
      ->type_name("FILE");
  app.add_flag("--raw", target->raw, "Write numbers as stored, not names, paths and flags");
  app.footer("CSV has names as they are; on a terminal control characters and invisible ones are "
             "shown as \\x1b.");
  return [target](const Console& console) { return export_trace(console, *target); };
}

} // namespace

extern const Verb kVerbExport = {
    .name = "export",
    .summary = "Write events as CSV or JSON",
    .group = Group::read,
    .rank = 5,
    .declare = declare_export,
    .examples = "  iotrail export latest --to jsonl -o trace.jsonl\n"
                "  iotrail export latest --to csv -o directory\n"
                "  iotrail export latest --to csv --table syscall_read\n",
};

} // namespace iotrail::cli

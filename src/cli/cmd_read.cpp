// SPDX-License-Identifier: BSD-3-Clause
//
// report, script, query, export: the verbs that read a trace.
#include <cstdio>
#include <memory>

#include "analysis/engine.hpp"
#include "cli/commands.hpp"
#include "output/export.hpp"
#include "output/output.hpp"
#include "output/report_text.hpp"
#include "output/script.hpp"
#include "store/catalogue.hpp"

namespace iotrail::cli {
namespace {

constexpr const char* kTraceHelp = "Path or name of the trace, or `latest`";

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

Result<std::unique_ptr<analysis::Engine>> open_engine(const std::string& name) {
  auto path = store::find_trace(name);
  if (!path)
    return std::unexpected(path.error());
  return analysis::Engine::open(*path);
}

Result<std::unique_ptr<store::TraceReader>> open_trace(const std::string& name) {
  auto path = store::find_trace(name);
  if (!path)
    return std::unexpected(path.error());
  return store::TraceReader::open(*path);
}

// Damage costs rows silently unless it is said; the report says it itself.
void warn_of_damage(const store::TraceReader& trace) {
  for (const std::string& notice : trace.notices())
    fmt::print(stderr, "iotrail: {}\n", notice);
  const store::Damage damage = trace.damage();
  if (damage.any())
    fmt::print(
        stderr,
        "iotrail: {} is damaged: {} bytes, {} blocks and at least {} rows were passed over\n",
        trace.path().native(), damage.bytes_skipped, damage.blocks_skipped, damage.rows_skipped);
}

std::string format_names() {
  std::string names;
  for (const output::Format& format : output::formats())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format.name);
  return names;
}

Result<const output::Format*> parse_format(const std::string& name) {
  if (const output::Format* format = output::find_format(name))
    return format;
  return fail_usage(fmt::format("there is no format '{}'", name),
                    "the formats are " + format_names());
}

Result<int> report(const std::string& name) {
  auto engine = open_engine(name);
  if (!engine)
    return std::unexpected(engine.error());
  if (Result<void> written = output::write_report(**engine, stdout); !written)
    return std::unexpected(written.error());
  return 0;
}

Result<int> script(const std::string& name, const std::vector<std::string>& events) {
  auto trace = open_trace(name);
  if (!trace)
    return std::unexpected(trace.error());
  std::vector<io_u16> kinds;
  for (const std::string& event : events) {
    const store::TableInfo* table = (*trace)->table(event);
    if (table == nullptr)
      return fail_usage(fmt::format("there is no event '{}'", event), {},
                        "`iotrail schema` lists the events.");
    kinds.push_back(table->kind);
  }
  auto lines = output::write_script(**trace, stdout, kinds);
  if (!lines)
    return std::unexpected(lines.error());
  warn_of_damage(**trace);
  return 0;
}

Result<int> query(const std::string& name, const std::string& sql, const std::string& format_name) {
  auto format = parse_format(format_name);
  if (!format)
    return std::unexpected(format.error());
  auto engine = open_engine(name);
  if (!engine)
    return std::unexpected(engine.error());
  auto rows = (*engine)->query(sql);
  if (!rows)
    return std::unexpected(rows.error());
  auto written = output::write_rows(*rows, **format, stdout);
  if (!written)
    return std::unexpected(written.error());
  warn_of_damage((*engine)->trace());
  return 0;
}

struct ExportTarget {
  std::string trace;
  std::string format;
  std::string table;
  std::string path;
  bool raw = false;
};

Result<std::uint64_t> export_to_file(const store::TraceReader& trace, const ExportTarget& target,
                                     const output::ExportOptions& options) {
  File opened;
  if (!target.path.empty()) {
    opened.reset(std::fopen(target.path.c_str(), "wxe"));
    if (!opened)
      return fail_errno(fmt::format("cannot write {}", target.path));
  }
  std::FILE* file = opened ? opened.get() : stdout;
  return target.table.empty() ? output::export_stream(trace, options, file)
                              : output::export_table(trace, target.table, options, file);
}

Result<int> export_trace(const ExportTarget& target) {
  auto format = parse_format(target.format);
  if (!format)
    return std::unexpected(format.error());
  const bool is_directory =
      target.table.empty() && target.format != "json" && target.format != "jsonl";
  if (is_directory && target.path.empty())
    return fail_usage("export of a whole trace as " + target.format + " needs a directory",
                      "each table becomes a file of its own",
                      "Give -o DIRECTORY, or one table with --table.");
  auto trace = open_trace(target.trace);
  if (!trace)
    return std::unexpected(trace.error());
  const output::ExportOptions options{.format = *format, .raw = target.raw};
  auto rows = is_directory ? output::export_directory(**trace, options, target.path)
                           : export_to_file(**trace, target, options);
  if (!rows)
    return std::unexpected(rows.error());
  warn_of_damage(**trace);
  return 0;
}

} // namespace

Action declare_report(CLI::App& app, const Trailing&) {
  auto name = std::make_shared<std::string>();
  app.add_option("trace", *name, kTraceHelp)->required();
  return [name] { return report(*name); };
}

Action declare_script(CLI::App& app, const Trailing&) {
  auto name = std::make_shared<std::string>();
  auto events = std::make_shared<std::vector<std::string>>();
  app.add_option("trace", *name, kTraceHelp)->required();
  app.add_option("-e,--event", *events, "Only these events (syscall_read), separated by commas")
      ->delimiter(',');
  return [name, events] { return script(*name, *events); };
}

Action declare_query(CLI::App& app, const Trailing&) {
  auto name = std::make_shared<std::string>();
  auto sql = std::make_shared<std::string>();
  auto format = std::make_shared<std::string>("text");
  app.add_option("trace", *name, kTraceHelp)->required();
  app.add_option("sql", *sql, "The query; each event is a table, see `iotrail schema --sql`")
      ->required();
  app.add_option("--format", *format, format_names());
  app.add_flag_callback("--json", [format] { *format = "json"; }, "The same as --format json");
  return [name, sql, format] { return query(*name, *sql, *format); };
}

Action declare_export(CLI::App& app, const Trailing&) {
  auto target = std::make_shared<ExportTarget>();
  app.add_option("trace", target->trace, kTraceHelp)->required();
  app.add_option("--to", target->format, format_names())->required();
  app.add_option("--table", target->table, "Only this event or dictionary table; default: all");
  app.add_option("-o,--output", target->path,
                 "File to write, or directory; default: standard output");
  app.add_flag("--raw", target->raw,
               "Numbers as they are stored, instead of names, paths and flags");
  return [target] { return export_trace(*target); };
}

} // namespace iotrail::cli

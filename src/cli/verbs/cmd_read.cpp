// SPDX-License-Identifier: BSD-3-Clause
//
// script, query, export: the verbs that read a trace.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>

#include "analysis/engine/definitions.hpp"
#include "analysis/engine/engine.hpp"
#include "base/nearest_name.hpp"
#include "cli/commands.hpp"
#include "cli/tell.hpp"
#include "export/export.hpp"
#include "export/output.hpp"
#include "export/script.hpp"
#include "reference/sql_reference.hpp"
#include "report/report_text.hpp"
#include "report/stat_text.hpp"
#include "store/reader/catalogue.hpp"
#include "store/writer/leftovers.hpp"
#include "text/printable.hpp"
#include "text/text_width.hpp"

namespace iotrail::cli {
namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

Result<std::unique_ptr<analysis::Engine>> open_engine(const std::string& name,
                                                      const analysis::EngineOptions& options = {}) {
  auto path = store::find_trace(name);
  if (!path)
    return std::unexpected(path.error());
  return analysis::Engine::open(*path, options);
}

Result<std::unique_ptr<store::TraceReader>> open_trace(const std::string& name) {
  auto path = store::find_trace(name);
  if (!path)
    return std::unexpected(path.error());
  return store::TraceReader::open(*path);
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

// An event or a dictionary.
Result<const store::TableInfo*> find_table(const store::TraceReader& trace,
                                           const std::string& name) {
  if (const store::TableInfo* table = trace.table(name))
    return table;
  std::vector<std::string_view> names;
  for (const store::TableInfo& table : trace.tables())
    names.push_back(table.name);
  return fail_usage(fmt::format("there is no event or table '{}'", name),
                    "`iotrail schema` lists them", did_you_mean(name, names));
}

Result<int> script(const std::string& name, const std::vector<std::string>& events) {
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
  auto lines = output::write_script(**trace, stdout, kinds);
  if (!lines)
    return std::unexpected(lines.error());
  tell_warnings(**trace);
  if (*lines == 0 && output::has_sums(**trace))
    tell("iotrail: the trace has sums of its events alone: `iotrail report` shows them");
  for (const iot_u16 kind : kinds)
    tell_not_recorded(**trace, *(*trace)->table(kind));
  return 0;
}

// What `write` makes of the new file `path`, or of standard output where that is empty. Never replaces a file, and leaves none
// behind that is not whole.
template <class Write>
auto write_output(const std::string& path, const Write& write) -> decltype(write(stdout)) {
  if (path.empty())
    return write(stdout);
  const store::Leftovers made;
  File file;
  if (!made.make([&] {
        file.reset(std::fopen(path.c_str(), "wxe"));
        return file ? std::filesystem::path(path) : std::filesystem::path();
      }))
    return fail_errno(fmt::format("cannot write {}", path));
  auto written = write(file.get());
  if (written)
    made.keep();
  else if (std::ferror(file.get()) != 0)
    written.error().what = fmt::format("cannot write {}", path);
  return written;
}

struct QueryRequest {
  std::string trace;
  std::string sql;
  std::string format;   // empty: what the name of the file ends with, else text
  std::string describe; // a table, view or function
  bool tables = false;
  std::string path;
  bool external_access = false;
  bool raw = false;
  bool wide = false;
};

// A file and a pipe get whole texts, a terminal what it has room for.
std::size_t table_width(const QueryRequest& request) {
  const bool is_fitted = request.path.empty() && !request.wide && ::isatty(STDOUT_FILENO) == 1;
  return is_fitted ? output::terminal_width(STDOUT_FILENO) : output::kAnyWidth;
}

// Of the events that the statement itself names.
void tell_events_not_recorded(const store::TraceReader& trace, std::string_view sql) {
  std::set<std::string> names;
  for (std::string& name : analysis::names_in(sql))
    names.insert(std::move(name));
  for (const std::string& name : names)
    if (const store::TableInfo* table = trace.table(name))
      tell_not_recorded(trace, *table);
}

// What can be asked, instead of asking.
Result<int> print_reference(analysis::Engine& engine, const QueryRequest& request) {
  output::Sink sink(stdout);
  const std::size_t width = output::terminal_width(STDOUT_FILENO);
  const Result<void> printed = request.tables
                                   ? output::print_relations(engine, sink, width)
                                   : output::print_relation(engine, request.describe, sink, width);
  tell_warnings(engine.trace());
  tell_events_not_recorded(engine.trace(), request.describe);
  return printed ? Result<int>(0) : std::unexpected(printed.error());
}

Result<const output::Format*> format_of(const QueryRequest& request) {
  if (!request.format.empty())
    return parse_format(request.format);
  const std::string extension = std::filesystem::path(request.path).extension();
  const output::Format* format =
      extension.empty() ? nullptr : output::find_format(extension.substr(1));
  return format ? format : output::find_format("text");
}

Result<int> query(const QueryRequest& request) {
  auto format = format_of(request);
  if (!format)
    return std::unexpected(format.error());
  const bool asks_what = request.tables || !request.describe.empty();
  if (request.sql.empty() && !asks_what)
    return fail_usage("query: no SQL given", {},
                      "`iotrail query TRACE --tables` lists what can be asked.");
  auto engine = open_engine(request.trace, {.external_access = request.external_access});
  if (!engine && (request.sql == store::kLatest || store::find_trace(request.sql)))
    return fail_usage("query: the trace comes first, then the SQL", {},
                      fmt::format("iotrail query {} SQL", request.sql));
  if (!engine)
    return std::unexpected(engine.error());
  if (asks_what)
    return print_reference(**engine, request);
  auto rows = (*engine)->query(request.sql);
  if (!rows)
    return std::unexpected(rows.error());
  const output::RowsOptions options{.format = *format,
                                    .trace = request.raw ? nullptr : &(*engine)->trace(),
                                    .width = table_width(request)};
  const auto written = write_output(
      request.path, [&](std::FILE* file) { return output::write_rows(*rows, options, file); });
  if (!written)
    return std::unexpected(written.error());
  tell_warnings((*engine)->trace());
  tell_events_not_recorded((*engine)->trace(), request.sql);
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
  if (target.table.empty())
    return write_output(
        target.path, [&](std::FILE* file) { return output::export_stream(trace, options, file); });
  const auto table = find_table(trace, target.table);
  if (!table)
    return std::unexpected(table.error());
  return write_output(target.path, [&](std::FILE* file) {
    return output::export_table(trace, **table, options, file);
  });
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
  tell_warnings(**trace);
  if (!target.table.empty())
    tell_not_recorded(**trace, *(*trace)->table(target.table));
  return 0;
}

} // namespace

Action declare_script(CLI::App& app, const Trailing&) {
  auto name = std::make_shared<std::string>();
  auto events = std::make_shared<std::vector<std::string>>();
  app.add_option("trace", *name, kTraceHelp)->required();
  app.add_option("-e,--event", *events, "Only these events (syscall_read), separated by commas")
      ->delimiter(',');
  return [name, events] { return script(*name, *events); };
}

Action declare_query(CLI::App& app, const Trailing&) {
  auto request = std::make_shared<QueryRequest>();
  app.add_option("trace", request->trace, kTraceHelp)->required();
  CLI::Option* sql = app.add_option(
      "sql", request->sql,
      "The query: one statement that reads, as SELECT, FROM, DESCRIBE, SUMMARIZE, PIVOT, "
      "EXPLAIN");
  CLI::Option* tables =
      app.add_flag("--tables", request->tables, "List the tables, views and functions there are");
  CLI::Option* describe = app.add_option("--describe", request->describe,
                                         "Columns of this table or view, with units and meanings");
  CLI::Option* format = app.add_option(
      "--format", request->format,
      format_names() + "; default: what the name of the -o file ends with, else text");
  CLI::Option* json = app.add_flag_callback(
      "--json", [request] { request->format = "json"; }, "The same as --format json");
  CLI::Option* output =
      app.add_option("-o,--output", request->path, "File to write; default: standard output");
  CLI::Option* raw = app.add_flag(
      "--raw", request->raw,
      "Numbers as they are stored, instead of names of errors, flags, devices, operations");
  app.add_flag("--wide", request->wide,
               "Whole texts and all columns, however wide the terminal is");
  app.add_flag("--unsafe-external-access", request->external_access,
               "The query may be any statements, read and write any file and load extensions");
  json->excludes(format);
  for (CLI::Option* of_a_query :
       {sql, format, json, output, raw}) { // these two are text, on standard output
    tables->excludes(of_a_query);
    describe->excludes(of_a_query);
  }
  tables->excludes(describe);
  app.footer("Format text shows control characters and invisible ones as \\x1b; so does csv on a "
             "terminal, where text is also shortened. Files and pipes get csv with names as they "
             "are, and json with \\u001b. Bytes that are not UTF-8 are \\xff in SQL, and so in "
             "what it answers, a backslash that would look so is \\x5c; `iotrail export` to csv "
             "writes them as they are.");
  return [request] { return query(*request); };
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
  app.footer("CSV has names as they are; on a terminal control characters and invisible ones are "
             "shown as \\x1b.");
  return [target] { return export_trace(*target); };
}

} // namespace iotrail::cli

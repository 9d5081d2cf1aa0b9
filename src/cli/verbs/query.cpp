// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>

#include "analysis/engine/lazy_relations.hpp"
#include "base/shell_word.hpp"
#include "cli/exit.hpp"
#include "cli/messages.hpp"
#include "cli/open_trace.hpp"
#include "cli/options/format_option.hpp"
#include "cli/options/limit_options.hpp"
#include "cli/output_file.hpp"
#include "cli/sessions/sql_statements.hpp"
#include "cli/verb.hpp"
#include "export/arrow/arrow_file.hpp"
#include "export/output.hpp"
#include "reference/sql_reference.hpp"
#include "store/reader/repository.hpp"
#include "store/writer/temporary_files.hpp"
#include "text/printable.hpp"
#include "text/text_width.hpp"

namespace iotrail::cli {
namespace {

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
  LimitWords limits;
};

// A file and a pipe get whole texts, a terminal what it has room for.
std::size_t table_width(const Stream& out, const QueryRequest& request) {
  return request.path.empty() && !request.wide ? out.terminal_width() : output::kAnyWidth;
}

// The engine cannot end a function that takes long.
[[noreturn]] void end_process(const Console& console, const Error& reason) {
  print_message(console.err, fmt::format("iotrail: {}", output::printable_message(reason)));
  store::remove_temporary_files();
  ::_exit(static_cast<int>(Exit::failed));
}

void end_overdue_queries(analysis::Engine& engine, const Console& console) {
  engine.set_on_overdue([console](const Error& reason) { end_process(console, reason); });
}

Result<analysis::EngineOptions> engine_options(const QueryRequest& request) {
  const auto limits = parse_limits(request.limits);
  if (!limits)
    return std::unexpected(limits.error());
  return analysis::EngineOptions{.memory_bytes = limits->memory_bytes,
                                 .time_limit_ns = limits->time_ns,
                                 .external_access = request.external_access};
}

// Of the events that the statement itself names.
void print_events_not_recorded(const Console& console, const store::TraceReader& trace,
                               std::string_view sql) {
  std::set<std::string> names;
  for (std::string& name : analysis::names_in(sql))
    names.insert(std::move(name));
  for (const std::string& name : names)
    if (const store::TableInfo* table = trace.table(name))
      print_not_recorded(console.err, trace, *table);
}

// What can be asked, instead of asking.
Result<int> print_reference(const Console& console, analysis::Engine& engine,
                            const QueryRequest& request) {
  output::Sink sink(console.out.file);
  const std::size_t width = console.out.width();
  const std::string& name = request.tables ? request.sql : request.describe;
  const Result<void> printed = name.empty() ? output::print_relations(engine, sink, width)
                                            : output::print_relation(engine, name, sink, width);
  print_warnings(console.err, engine.trace());
  print_events_not_recorded(console, engine.trace(), name);
  return printed ? Result<int>(0) : std::unexpected(printed.error());
}

constexpr std::string_view kText = "text";
constexpr std::string_view kTextSuffix = "txt";  // the usual one
constexpr std::string_view kParquet = "parquet"; // which the engine writes itself
constexpr std::string_view kArrow = "arrow";     // which has the engine's types

// The format that the suffix of the file names.
Result<std::string> format_by_suffix(const std::string& path) {
  const std::string suffix = std::filesystem::path(path).extension();
  if (suffix.size() < 2 || suffix.substr(1) == kTextSuffix)
    return std::string(kText);
  std::string format = suffix.substr(1);
  if (format == kParquet || format == kArrow || output::find_format(format) != nullptr)
    return format;
  return fail_usage(
      fmt::format("-o {}: no format has the suffix '{}'", path, suffix),
      fmt::format("the suffixes are {}, {}, {}, {}", format_names(), kArrow, kParquet, kTextSuffix),
      "--format names the format of a file with another suffix.");
}

Result<std::string> format_of(const Stream& out, const QueryRequest& request) {
  if (request.format.empty())
    return format_by_suffix(request.path);
  if (request.format == kParquet && request.path.empty())
    return fail_usage("--format parquet needs a file", "its end refers to its parts",
                      "Give -o FILE.");
  if (request.format == kArrow && request.path.empty() && out.is_terminal())
    return fail_usage("arrow is not for terminals", "it is binary", "Give -o FILE.");
  return request.format;
}

constexpr std::string_view kStandardInput = "-"; // in place of the SQL

Result<void> answer_in_arrow(const Console& console, analysis::Engine& engine,
                             const QueryRequest& request) {
  auto chunks = engine.query_for_arrow(request.sql);
  if (!chunks)
    return std::unexpected(chunks.error());
  const auto written = write_output(console.out, request.path, [&](std::FILE* file) {
    return output::write_arrow(*chunks, file);
  });
  if (!written)
    return std::unexpected(written.error());
  print_events_not_recorded(console, engine.trace(), request.sql);
  return {};
}

Result<void> answer(const Console& console, analysis::Engine& engine, const QueryRequest& request,
                    const output::Format* format, const std::string& sql) {
  auto rows = engine.query(sql);
  if (!rows)
    return std::unexpected(rows.error());
  const output::RowsOptions options{.format = format,
                                    .trace = request.raw ? nullptr : &engine.trace(),
                                    .width = table_width(console.out, request)};
  const auto written = write_output(console.out, request.path, [&](std::FILE* file) {
    return output::write_rows(*rows, options, file);
  });
  if (!written)
    return std::unexpected(written.error());
  print_events_not_recorded(console, engine.trace(), sql);
  return {};
}

// Each statement is answered before the next one is read.
Result<void> answer_statements(const Console& console, analysis::Engine& engine,
                               const QueryRequest& request, const output::Format* format) {
  SqlStatements statements(stdin);
  while (true) {
    const auto sql = statements.next();
    if (!sql)
      return std::unexpected(sql.error());
    if (!*sql)
      return {};
    if (const auto answered = answer(console, engine, request, format, **sql); !answered)
      return answered;
    if (std::fflush(console.out.file) != 0)
      return fail_errno("cannot write the answer");
  }
}

// The engine opens the new file once more by its descriptor: nothing can take its place.
Result<int> query_to_parquet(const Console& console, const QueryRequest& request,
                             analysis::EngineOptions options) {
  const auto written =
      write_output(console.out, request.path, [&](std::FILE* file) -> Result<std::uint64_t> {
        options.output = fmt::format("/proc/self/fd/{}", ::fileno(file));
        const auto engine = open_engine(request.trace, options);
        if (!engine)
          return std::unexpected(engine.error());
        end_overdue_queries(**engine, console);
        auto rows = (*engine)->write_parquet(request.sql);
        if (rows) {
          print_warnings(console.err, (*engine)->trace());
          print_events_not_recorded(console, (*engine)->trace(), request.sql);
        }
        return rows;
      });
  return written ? Result<int>(0) : std::unexpected(written.error());
}

Result<int> query(const Console& console, const QueryRequest& request) {
  const auto name = format_of(console.out, request);
  if (!name)
    return std::unexpected(name.error());
  if (const Result<void> checked = check_new_file(request.path); !checked)
    return std::unexpected(checked.error());
  const bool asks_what = request.tables || !request.describe.empty();
  if (request.sql.empty() && !asks_what)
    return fail_usage("query: no SQL given", {},
                      request.trace.contains(' ')
                          ? fmt::format("The trace comes first: iotrail query latest {}",
                                        shell_word(request.trace))
                          : "`iotrail query TRACE --tables` lists what can be asked.");
  if (request.sql == kStandardInput && (!request.path.empty() || *name == kArrow))
    return fail_usage("query: several statements have no one file for their answers", {},
                      *name == kArrow ? "Give one statement."
                                      : "Give one statement, or redirect the output.");
  const auto of_engine = engine_options(request);
  if (!of_engine)
    return std::unexpected(of_engine.error());
  if (*name == kParquet)
    return query_to_parquet(console, request, *of_engine);
  const Result<const output::Format*> format =
      *name == kArrow ? Result<const output::Format*>(nullptr) : parse_format(*name);
  if (!format)
    return std::unexpected(format.error());
  auto engine = open_engine(request.trace, *of_engine);
  if (!engine && (request.sql == store::kLatest || store::find_trace(request.sql)))
    return fail_usage("query: the trace comes first, then the SQL", {},
                      fmt::format("iotrail query {} SQL", shell_word(request.sql)));
  if (!engine)
    return std::unexpected(engine.error());
  if (asks_what)
    return print_reference(console, **engine, request);
  end_overdue_queries(**engine, console);
  const Result<void> answered = *name == kArrow ? answer_in_arrow(console, **engine, request)
                                : request.sql == kStandardInput
                                    ? answer_statements(console, **engine, request, *format)
                                    : answer(console, **engine, request, *format, request.sql);
  if (!answered)
    return std::unexpected(answered.error());
  print_warnings(console.err, (*engine)->trace());
  return 0;
}

Action declare_query(CLI::App& app, const Trailing&) {
  auto request = std::make_shared<QueryRequest>();
  app.add_option("trace", request->trace, kTraceHelp)->type_name("TRACE")->required();
  CLI::Option* sql =
      app.add_option(
             "sql", request->sql,
             "One statement that reads, such as SELECT, FROM, DESCRIBE, SUMMARIZE, PIVOT, EXPLAIN; "
             "-: those on standard input, each ended by a semicolon")
          ->type_name("SQL");
  CLI::Option* tables = app.add_flag(
      "--tables", request->tables,
      "List the tables, views and functions; with a name after it, the columns of one");
  CLI::Option* describe =
      app.add_option("--describe", request->describe,
                     "Print the columns of this table or view, with units and meanings")
          ->type_name("VIEW");
  CLI::Option* format =
      app.add_option("--format", request->format,
                     format_names() + ", arrow, or parquet with -o; default: the suffix of the -o "
                                      "file, else text")
          ->type_name("FORMAT");
  CLI::Option* json = app.add_flag_callback(
      "--json", [request] { request->format = "json"; }, "The same as --format json");
  CLI::Option* output =
      app.add_option("-o,--output", request->path, "File to write; default: standard output")
          ->type_name("FILE");
  CLI::Option* raw = app.add_flag(
      "--raw", request->raw,
      "Print numbers as stored, not the names of errors, flags, devices and operations");
  app.add_flag("--wide", request->wide,
               "Print whole texts and all columns, however wide the terminal is");
  declare_limits(app, request->limits,
                 "End the query if its last row is not written after this time (10s)",
                 "Memory that the query may take (512M) before it uses the disk; default: half of "
                 "the machine's, at most 4 GiB");
  app.add_flag("--unsafe-external-access", request->external_access,
               "Allow any statements, access to any file, and extensions");
  json->excludes(format);
  for (CLI::Option* of_a_query :
       {format, json, output, raw}) { // these two are text, on standard output
    tables->excludes(of_a_query);
    describe->excludes(of_a_query);
  }
  describe->excludes(sql);
  tables->excludes(describe);
  app.footer(
      "Format text shows control characters and invisible ones as \\x1b; so does csv on a "
      "terminal, where text is also shortened. Files and pipes get csv with names as they "
      "are, and json with \\u001b. Parquet and Arrow have the types of SQL, and numbers "
      "as with --raw. Bytes that are not UTF-8 are \\xff in SQL, and so in what it answers, a "
      "backslash that would look so is \\x5c; `iotrail export` to csv "
      "writes them as they are.");
  return [request](const Console& console) { return query(console, *request); };
}

} // namespace

extern const Verb kVerbQuery = {
    .name = "query",
    .summary = "Query a trace in SQL",
    .group = Group::read,
    .rank = 4,
    .declare = declare_query,
    .examples = "  iotrail query latest --tables\n"
                "  iotrail query latest --describe top_files\n"
                "  iotrail query latest \"FROM top_files LIMIT 10\" --json\n"
                "  iotrail query latest - <questions.sql\n",
};

} // namespace iotrail::cli

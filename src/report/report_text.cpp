// SPDX-License-Identifier: BSD-3-Clause
#include "report/report_text.hpp"
#include "text/units.hpp"

#include <algorithm>
#include <cctype>
#include <ranges>

#include <fmt/ranges.h>

#include "base/nearest_name.hpp"
#include "export/json.hpp"
#include "report/report_sections.hpp"
#include "report/report_summary.hpp"
#include "report/warnings.hpp"
#include "text/printable.hpp"

namespace iotrail::output {

namespace {

constexpr std::uint64_t kRowsOfOneTable = 20;

constexpr std::string_view kLossesSql = R"(
SELECT * FROM loss_totals
ORDER BY CASE severity WHEN 'loss' THEN 1 WHEN 'gap' THEN 2 ELSE 3 END, severity, events DESC, counter, event)";

// A section that this trace does not allow is named; the others stand.
void print_failure(std::string_view title, const Error& error, Sink& sink) {
  sink.print("\n{}\n  not shown: {}\n", title, printable_lines(error.message()));
}

struct Answer {
  const Section* section;
  Result<SmallResult> rows;
};

// Some cost more than they tell, unless somebody asks for them.
Result<SmallResult> ask_one(analysis::Engine& engine, const Section& section,
                            const SectionOptions& options) {
  std::uint64_t events = 0;
  for (const store::BlockInfo& block : engine.trace().blocks())
    events += block.rows;
  if (events > section.most_events)
    return std::unexpected(
        Error{fmt::format("the trace has {} events", human_count(events)),
              fmt::format("of more than {} it takes long", human_count(section.most_events)),
              fmt::format("iotrail query TRACE \"FROM {}\" has it.", section.view), 0});
  return SmallResult::query(engine, section_sql(section, options));
}

std::vector<Answer> ask(analysis::Engine& engine, std::span<const Section> sections,
                        const SectionOptions& options) {
  std::vector<Answer> answers;
  for (const Section& section : sections)
    answers.push_back({&section, ask_one(engine, section, options)});
  return answers;
}

void print_answers(const std::vector<Answer>& answers, const store::TraceReader& trace, Sink& sink,
                   std::size_t width) {
  for (const auto& [section, rows] : answers) {
    if (!rows) {
      print_failure(section->title, rows.error(), sink);
    } else if (has_text(*section, *rows)) {
      sink.put('\n');
      print_section(*section, {}, *rows, trace, sink, width);
    }
  }
}

// Events of snapshots, and the views that show them.
constexpr std::pair<std::string_view, std::string_view> kSnapshotViews[] = {
    {"snapshot_file", "snapshot_files"},      {"snapshot_process", "snapshot_processes"},
    {"snapshot_system", "snapshot_machines"}, {"snapshot_disk", "snapshot_disks"},
    {"snapshot_mount", "snapshot_mounts"},    {"snapshot_network", "snapshot_interfaces"},
    {"snapshot_setting", "snapshot_settings"}};

// The report tells of what happened; what was there is too much for it.
void print_snapshots(const store::TraceReader& trace, Sink& sink, std::size_t width) {
  std::vector<std::string_view> views;
  for (const auto& [event, view] : kSnapshotViews)
    if (const store::TableInfo* table = trace.table(event); table && trace.has_rows(table->kind))
      views.push_back(view);
  if (views.empty())
    return;
  sink.print("\nSnapshots\n");
  print_wrapped(fmt::format("what they found is in the view{} {}: iotrail query TRACE \"FROM {}\"",
                            views.size() == 1 ? "" : "s", fmt::join(views, ", "), views.front()),
                sink, width);
}

// Headings are short, and some tables show less than there is.
void print_views(Sink& sink, std::size_t width) {
  std::string views;
  for (const std::span<const Section> sections : {first_page(), further_pages()})
    for (const Section& section : sections)
      views += fmt::format("{}{}", views.empty() ? "" : ", ", section.view);
  sink.print("\nIn SQL\n");
  for (const std::string& line :
       wrapped(fmt::format("the tables above are made of the views {}; their columns: iotrail "
                           "query TRACE --describe VIEW",
                           views),
               width - 2))
    sink.print("  {}\n", line);
}

// All is queried before anything is printed: damage comes first on paper, and is known only when everything was read.
Result<void> write_whole(analysis::Engine& engine, const ReportOptions& options, Sink& sink) {
  const std::vector<Answer> first = ask(engine, first_page(), options.rows);
  const std::vector<Answer> further = ask(engine, further_pages(), options.rows);
  const auto losses = SmallResult::query(engine, kLossesSql);
  const store::TraceReader& trace = engine.trace();
  print_trace_header(trace, options.selection, sink, options.width);
  print_answers(first, trace, sink, options.width);
  print_answers(further, trace, sink, options.width);
  print_snapshots(trace, sink, options.width);
  print_losses(trace, losses ? *losses : SmallResult{}, sink, options.width);
  if (!losses)
    print_failure("Counters", losses.error(), sink);
  print_recording(trace, sink, options.width);
  print_views(sink, options.width);
  print_refusals(trace.manifest(), sink, options.width);
  return sink.finish();
}

std::string sortable(const Section& section) {
  std::string names;
  for (const SectionColumn& column : section.columns)
    names += fmt::format("{}'{}'{}", names.empty() ? "" : ", ", column.title,
                         column.title == column.name ? "" : fmt::format(" ({})", column.name));
  return names;
}

// "Dev write", "dev_write" and "dev-write" are the heading "dev write" as well.
bool is_heading(std::string_view heading, std::string_view text) {
  const auto plain = [](char c) {
    return c == '_' || c == '-' ? ' '
                                : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  };
  return std::ranges::equal(heading, text, {}, plain, plain);
}

// A column by its heading or by its name in SQL.
Result<std::string> column_to_sort_by(const Section& section, const std::string& text) {
  for (const SectionColumn& column : section.columns)
    if (is_heading(column.title, text) || column.name == text)
      return std::string(column.name);
  return fail_usage(
      fmt::format("--sort: there is no column '{}'", text),
      "the columns, and their names in SQL, are " + sortable(section),
      did_you_mean(text, section.columns | std::views::transform(&SectionColumn::title)));
}

struct OneTable {
  const Section* section;
  SectionOptions rows;
};

Result<OneTable> one_table(const ReportOptions& options) {
  OneTable table{section_by(options.by), options.rows};
  if (table.section == nullptr)
    return fail_usage(fmt::format("--by: there is no table by '{}'", options.by),
                      "the tables are by operation, file, process and device");
  if (table.rows.rows == 0)
    table.rows.rows = kRowsOfOneTable;
  if (table.rows.sort.empty())
    return table;
  auto column = column_to_sort_by(*table.section, table.rows.sort);
  if (!column)
    return std::unexpected(column.error());
  table.rows.sort = *column;
  return table;
}

Result<void> check(const ReportOptions& options) {
  if (!options.by.empty() || options.rows.sort.empty())
    return {};
  return fail_usage("--sort needs --by", "each table has columns of its own",
                    "Write for example --by file --sort written.");
}

// Rows that were written before the others failed stay: the list `not_shown` tells of both.
Result<void> write_json_rows(analysis::Engine& engine, const Section& section,
                             const SectionOptions& options, Sink& sink) {
  sink.put(",\n");
  put_json_text(sink, section.name);
  sink.put(":");
  auto rows = engine.query(section_sql(section, options));
  if (!rows) {
    sink.put("null\n");
    return std::unexpected(rows.error());
  }
  JsonOutput output(sink);
  output.begin(rows->columns());
  Result<bool> more = rows->next();
  for (; more && *more; more = rows->next())
    output.row(rows->row());
  output.end();
  if (!more)
    return std::unexpected(more.error());
  return {};
}

struct NotShown {
  std::string_view section;
  std::string why;
};

void write_json_not_shown(std::span<const NotShown> sections, Sink& sink) {
  sink.put(",\n\"not_shown\":[");
  bool is_first = true;
  for (const auto& [section, why] : sections) {
    sink.put(is_first ? "\n{\"section\":" : ",\n{\"section\":");
    put_json_text(sink, section);
    sink.put(",\"why\":");
    put_json_text(sink, why);
    sink.put('}');
    is_first = false;
  }
  sink.put(is_first ? "]\n" : "\n]\n");
}

// Last, since damage is known only when everything was read.
void write_json_warnings(const store::TraceReader& trace, Sink& sink) {
  sink.put(",\n\"warnings\":[");
  bool is_first = true;
  for (const std::string& sentence : answer_warnings(trace)) {
    sink.put(is_first ? "\n" : ",\n");
    put_json_text(sink, sentence);
    is_first = false;
  }
  sink.put(is_first ? "]\n" : "\n]\n");
}

constexpr Section kFacts[] = {
    {.name = "run", .sql = "SELECT * FROM run", .order = "begin_ns"},
    {.name = "manifest", .sql = "SELECT * FROM trace_info", .order = "\"key\""},
    {.name = "sources", .sql = "SELECT * FROM sources", .order = "source"},
    {.name = "losses", .sql = "SELECT * FROM loss_totals", .order = "counter, event"}};

} // namespace

Result<void> write_report(analysis::Engine& engine, const ReportOptions& options, std::FILE* file) {
  if (Result<void> checked = check(options); !checked)
    return checked;
  Sink sink(file);
  if (options.by.empty())
    return write_whole(engine, options, sink);
  const auto table = one_table(options);
  if (!table)
    return std::unexpected(table.error());
  const auto rows = SmallResult::query(engine, section_sql(*table->section, table->rows));
  if (!rows)
    return std::unexpected(rows.error());
  print_answer_warnings(engine.trace(), sink, options.width);
  print_section(*table->section, table->rows, *rows, engine.trace(), sink, options.width);
  return sink.finish();
}

Result<void> write_report_json(analysis::Engine& engine, const ReportOptions& options,
                               std::FILE* file) {
  if (Result<void> checked = check(options); !checked)
    return checked;
  std::vector<std::pair<const Section*, SectionOptions>> parts;
  const auto add = [&](std::span<const Section> sections) {
    for (const Section& section : sections)
      parts.emplace_back(
          &section, SectionOptions{.rows = options.rows.rows, .all_rows = options.rows.rows == 0});
  };
  if (options.by.empty()) {
    add(kFacts);
    add(first_page());
    add(further_pages());
  } else {
    const auto table = one_table(options);
    if (!table)
      return std::unexpected(table.error());
    parts.emplace_back(table->section, table->rows);
  }
  Sink sink(file);
  sink.put("{\"trace\":");
  put_json_text(sink, engine.trace().path().native());
  std::vector<NotShown> not_shown;
  for (const auto& [section, rows] : parts)
    if (Result<void> written = write_json_rows(engine, *section, rows, sink); !written) {
      if (!options.by.empty()) // nothing else was asked for
        return written;
      not_shown.push_back(
          {section->name, fmt::format("{}: {}", written.error().what, written.error().why)});
    }
  if (options.by.empty())
    write_json_not_shown(not_shown, sink);
  write_json_warnings(engine.trace(), sink);
  sink.put("}\n");
  return sink.finish();
}

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
#include "report/report.hpp"

#include <algorithm>
#include <cctype>
#include <ranges>

#include <fmt/ranges.h>

#include "base/nearest_name.hpp"
#include "report/sections.hpp"
#include "report/snapshot_report.hpp"
#include "report/trace_facts.hpp"
#include "report/warnings.hpp"

namespace iotrail::output {

namespace {

constexpr std::uint64_t kRowsOfOneTable = 20;

// The report covers events; the state of the machine would be too much.
void add_snapshots(const store::TraceReader& trace, std::vector<Section>& sections) {
  const std::vector<std::string_view> views = snapshot_views(trace);
  if (views.empty())
    return;
  sections.push_back({.id = "snapshots",
                      .title = sentence("Snapshots"),
                      .notes = {sentence(fmt::format(
                          "what they found is in the view{} {}: iotrail query TRACE \"FROM {}\"",
                          views.size() == 1 ? "" : "s", fmt::join(views, ", "), views.front()))}});
}

// Some views cost more than finding out that they are empty.
bool has_event(const store::TraceReader& trace, std::string_view event) {
  if (event.empty())
    return true;
  const store::TableInfo* table = trace.table(event);
  return table != nullptr && trace.has_rows(table->kind);
}

// The headings of the report are short, and some tables have more rows than they show.
Section views_section(const store::TraceReader& trace) {
  std::vector<std::string_view> views;
  for (const SectionDefinition& definition : sections_of(&Ranks::report))
    if (has_event(trace, definition.event))
      views.push_back(definition.view);
  return {.id = "views",
          .title = sentence("In SQL"),
          .notes = {sentence(fmt::format("the tables above are made of the views {}; their "
                                         "columns: iotrail query TRACE --describe VIEW",
                                         fmt::join(views, ", ")))}};
}

Section recording_section(const store::TraceReader& trace) {
  return {.id = "recording", .title = sentence("Recording"), .facts = recording_facts(trace)};
}

std::string sortable(const SectionDefinition& section) {
  std::string names;
  for (const ColumnDefinition& column : section.columns)
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

// Finds a column by its heading or by its name in SQL.
Result<std::string> column_to_sort_by(const SectionDefinition& section, const std::string& text) {
  for (const ColumnDefinition& column : section.columns)
    if (is_heading(column.title, text) || column.name == text)
      return std::string(column.name);
  return fail_usage(
      fmt::format("--sort: there is no column '{}'", text),
      "the columns, and their names in SQL, are " + sortable(section),
      did_you_mean(text, section.columns | std::views::transform(&ColumnDefinition::title)));
}

struct OneTable {
  const SectionDefinition* section;
  SectionOptions rows;
};

Result<OneTable> one_table(const ReportOptions& options) {
  OneTable table{section_by(options.by, &Ranks::report), options.rows};
  if (table.section == nullptr)
    return no_section_by(options.by);
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

// A report in progress: notes and warnings wait until all data is read.
class Report {
public:
  Report(analysis::Engine& engine, const ReportOptions& options)
      : engine_(engine), options_(options) {}

  void add(const SectionDefinition& definition, const SectionOptions& rows) {
    definitions_.push_back(&definition);
    document_.sections.push_back(make_section(engine_, definition, rows));
  }

  Document whole() {
    const SectionOptions rows{.rows = options_.rows.rows,
                              .all_rows = options_.for_programs && options_.rows.rows == 0};
    if (options_.for_programs)
      for (const SectionDefinition& definition : sections_of(&Ranks::report_data)) {
        add(definition, rows);
        document_.sections.back().shown.clear(); // the text of the report does not have them
      }
    for (const SectionDefinition& definition : sections_of(&Ranks::report))
      if (has_event(engine_.trace(), definition.event))
        add(definition, rows);
      else
        engine_.progress().step();
    const store::TraceReader& trace = engine_.trace();
    Section losses = make_section(engine_, losses_section(), {});
    add_all_notes();
    add_notes(trace, losses_section(), losses);
    add_snapshots(trace, document_.sections);
    document_.sections.push_back(std::move(losses));
    document_.title =
        sentence("Trace {name}", {text_value("name", trace.path().filename().string())});
    document_.facts = trace_facts(trace, options_.selection);
    document_.sections.push_back(recording_section(trace));
    document_.sections.push_back(views_section(trace));
    if (std::string refusals = refusals_text(trace.manifest()); !refusals.empty())
      document_.closing.push_back(only(text_value("not_recorded", std::move(refusals))));
    return finished(options_.for_programs ? answer_warnings(trace) : warning_sentences(trace));
  }

  Result<Document> one(const OneTable& table) {
    add(*table.section, table.rows);
    if (document_.sections.front().failure) // the only requested section
      return std::unexpected(*document_.sections.front().failure);
    add_all_notes();
    return finished(answer_warnings(engine_.trace()));
  }

private:
  void add_all_notes() {
    for (std::size_t i = 0; i < definitions_.size(); ++i)
      add_notes(engine_.trace(), *definitions_[i], document_.sections[i]);
  }
  Document finished(std::vector<Sentence> warnings) {
    document_.trace = engine_.trace().path().native();
    document_.warnings = std::move(warnings);
    document_.all_columns = "--wide";
    return std::move(document_);
  }

  analysis::Engine& engine_;
  const ReportOptions& options_;
  std::vector<const SectionDefinition*> definitions_;
  Document document_;
};

} // namespace

std::uint64_t report_steps(const ReportOptions& options) {
  if (!options.by.empty())
    return 1;
  return 1 + sections_of(&Ranks::report).size() +
         (options.for_programs ? sections_of(&Ranks::report_data).size() : 0);
}

Result<Document> make_report(analysis::Engine& engine, const ReportOptions& options) {
  if (Result<void> checked = check(options); !checked)
    return std::unexpected(checked.error());
  Report report(engine, options);
  if (options.by.empty())
    return report.whole();
  const auto table = one_table(options);
  if (!table)
    return std::unexpected(table.error());
  return report.one(*table);
}

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
#include "report/section.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/engine/sql_text.hpp"
#include "report/sample.hpp"
#include "report/small_result.hpp"
#include "report/warnings.hpp"
#include "text/units.hpp"

namespace iotrail::output {

namespace {

constexpr std::string_view kAllRows = "_all_rows";
constexpr std::string_view kPlace = "_place";

// Each group counts its own rows. Otherwise a separate query counts them, because a window of all
// rows sometimes makes DuckDB fail.
std::string counted_sql(const SectionDefinition& definition) {
  if (!definition.group.empty())
    return fmt::format("SELECT *, count(*) OVER (PARTITION BY {}) AS {} FROM ({}) AS s",
                       definition.group, kAllRows, definition.sql);
  return fmt::format("WITH _found AS MATERIALIZED ({}), _total AS (SELECT count(*) AS {} FROM "
                     "_found) SELECT * FROM _found CROSS JOIN _total",
                     definition.sql, kAllRows);
}

std::string section_sql(const SectionDefinition& definition, const SectionOptions& options) {
  const std::string order = options.sort.empty()
                                ? std::string(definition.order)
                                : fmt::format("{} DESC NULLS LAST, {}",
                                              analysis::sql_name(options.sort), definition.order);
  const std::string groups =
      definition.group.empty() ? "" : fmt::format("PARTITION BY {} ", definition.group);
  const std::uint64_t rows = options.rows == 0 ? definition.rows : options.rows;
  const bool is_cut = rows != 0 && !options.all_rows;
  return fmt::format("SELECT * EXCLUDE ({0}) FROM (SELECT *, row_number() OVER ({1}ORDER BY {2}) "
                     "AS {0} FROM ({3}) AS c) AS r{4} ORDER BY {5}{6}{0}",
                     kPlace, groups, order,
                     is_cut ? counted_sql(definition) : std::string(definition.sql),
                     is_cut ? fmt::format(" WHERE {} <= {}", kPlace, rows) : "",
                     definition.group_order, definition.group_order.empty() ? "" : ", ");
}

// The error for a trace that is too large for an expensive section.
std::optional<Error> too_many_events(const analysis::Engine& engine,
                                     const SectionDefinition& definition) {
  std::uint64_t events = 0;
  for (const store::BlockInfo& block : engine.trace().blocks())
    events += block.rows;
  if (events <= definition.most_events)
    return std::nullopt;
  return Error{fmt::format("the trace has {} events", human_count(events)),
               fmt::format("of more than {} it takes long", human_count(definition.most_events)),
               fmt::format("iotrail query TRACE \"FROM {}\" has it.", definition.view), 0};
}

// The meaning of a column without a definition: its name ends in its unit.
Meaning meaning_of(std::string_view name) {
  if (name.ends_with("_ns"))
    return Meaning::ns;
  if (name.contains("bytes"))
    return Meaning::bytes;
  if (name.ends_with("share"))
    return Meaning::share;
  if (name == "path")
    return Meaning::path;
  return Meaning::text;
}

Column column_of(const ColumnDefinition& definition, const SectionOptions& options) {
  return {.name = std::string(definition.name),
          .title = std::string(definition.title),
          .meaning = definition.meaning,
          .omit = definition.omit,
          .suppress_repeats = definition.suppress_repeats,
          .zero_is_dash = definition.zero_is_dash,
          .drop_priority = definition.name == options.sort ? 0 : definition.drop_priority,
          .never_drop = definition.never_drop || definition.name == options.sort,
          .is_sum = definition.is_sum,
          .instead = std::string(definition.instead)};
}

// The query's columns, in order. A trace may contain a table in place of one of our views. Shown
// columns that the table lacks then come last, without values.
void add_columns(Section& section, const SectionDefinition& definition,
                 const std::vector<std::string>& names, const SectionOptions& options) {
  for (const std::string& name : names) {
    const auto defined = std::ranges::find(definition.columns, name, &ColumnDefinition::name);
    section.columns.push_back(defined == definition.columns.end()
                                  ? Column{.name = name, .meaning = meaning_of(name)}
                                  : column_of(*defined, options));
  }
  for (const ColumnDefinition& defined : definition.columns) {
    const auto found = std::ranges::find(section.columns, defined.name, &Column::name);
    section.shown.push_back(static_cast<std::size_t>(found - section.columns.begin()));
    if (found == section.columns.end())
      section.columns.push_back(column_of(defined, options));
  }
}

void add_rows(Section& section, std::vector<std::vector<Value>> rows) {
  for (std::vector<Value>& values : rows) {
    values.resize(section.columns.size());
    section.rows.push_back({std::move(values)});
  }
}

void scale_rows(Section& section, const Sample& sample) {
  const SectionRows rows(section);
  const bool has_layer =
      std::ranges::find(section.columns, "layer", &Column::name) != section.columns.end();
  for (std::size_t row = 0; row < rows.size(); ++row)
    section.rows[row].scale_factor =
        sample.scale_factor(rows.text(row, has_layer ? "layer" : "_layer"));
}

void count_rows(Section& section, const SectionDefinition& definition) {
  const SectionRows rows(section);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::string name = definition.group.empty() ? "" : rows.text(row, definition.group);
    if (section.groups.empty() || section.groups.back().name != name)
      section.groups.push_back({name, 0, rows.number(row, kAllRows)});
    Group& group = section.groups.back();
    group.all = std::max(group.all, ++group.shown);
  }
  for (const Group& group : section.groups)
    section.all_rows += group.all;
}

// The title by which people know a column.
std::string_view title_of(const SectionDefinition& definition, std::string_view name) {
  for (const ColumnDefinition& column : definition.columns)
    if (column.name == name)
      return column.title;
  return name;
}

Sentence title_of(const SectionDefinition& definition, const SectionOptions& options,
                  const Section& section) {
  Sentence title = sentence(definition.title);
  if (section.failure)
    return title;
  const SectionRows rows(section);
  if (!definition.layer_phrase.empty() && rows.size() > 0)
    if (std::string layer = rows.text(0, "layer"); !layer.empty())
      title.add(definition.layer_phrase).add("{layer}", {text_value("layer", std::move(layer))});
  const std::string_view order =
      options.sort.empty() ? definition.order_label : title_of(definition, options.sort);
  if (!order.empty())
    title.add(", by ").add(order);
  return title;
}

// "--by file --top 21"
std::string more_options(std::string_view subject) {
  return subject.empty() ? "" : fmt::format("--by {} ", subject);
}

} // namespace

Section make_section(analysis::Engine& engine, const SectionDefinition& definition,
                     const SectionOptions& options) {
  Section section{.id = std::string(definition.id),
                  .view = std::string(definition.view),
                  .if_empty = std::string(definition.if_empty),
                  .failure = too_many_events(engine, definition)};
  SmallResult result;
  if (!section.failure)
    if (Result<void> done = result.read(engine, section_sql(definition, options)); !done)
      section.failure = done.error();
  engine.progress().step();
  add_columns(section, definition, result.columns(), options);
  add_rows(section, result.take_rows());
  scale_rows(section, Sample(engine.trace().manifest().sample_of));
  count_rows(section, definition);
  section.title = title_of(definition, options, section);
  return section;
}

Section make_table(std::string_view id, std::string_view title,
                   std::span<const ColumnDefinition> columns,
                   std::vector<std::vector<Value>> rows) {
  Section section{.id = std::string(id), .title = sentence(title), .all_rows = rows.size()};
  for (const ColumnDefinition& definition : columns) {
    if (!definition.title.empty())
      section.shown.push_back(section.columns.size());
    section.columns.push_back(column_of(definition, {}));
  }
  add_rows(section, std::move(rows));
  return section;
}

void add_notes(const store::TraceReader& trace, const SectionDefinition& definition,
               Section& section) {
  const bool has_rows = !section.failure && !section.rows.empty();
  if (definition.add_notes && (has_rows || definition.notes_without_rows))
    definition.add_notes(SectionRows(section), trace, section);
}

const Value& SectionRows::value(std::size_t row, std::string_view column) const {
  static const Value kNull;
  const auto found = std::ranges::find(section_.columns, column, &Column::name);
  if (found == section_.columns.end())
    return kNull;
  return section_.rows[row].values[static_cast<std::size_t>(found - section_.columns.begin())];
}

void note_rest(Section& section, std::string_view things, std::string_view subject) {
  if (section.all_rows <= section.rows.size())
    return;
  section.notes.push_back(
      sentence(fmt::format("{{shown}} of {{all}} {}; all: add {}--top {}", things,
                           more_options(subject), section.all_rows),
               {count_value("shown", section.rows.size()), count_value("all", section.all_rows)}));
}

void note_lost_completions(const SectionRows&, const store::TraceReader& trace, Section& section) {
  if (Sentence lost = lost_completions_sentence(trace.manifest()); !lost.empty())
    section.notes.push_back(std::move(lost));
}

void note_asynchronous(const store::TraceReader& trace, Section& section) {
  if ((trace.has_rows(IOT_KIND_syscall_uring_enter) ||
       trace.has_rows(IOT_KIND_syscall_aio_submit)) &&
      !trace.has_rows(IOT_KIND_async_operation))
    section.notes.push_back(
        sentence("read, written and calls are without what went through io_uring or libaio"));
}

Sentence rest_of_groups(const Section& section, std::string_view subject) {
  Sentence rest;
  std::uint64_t largest = 0;
  for (const Group& group : section.groups) {
    largest = std::max(largest, group.all);
    if (group.all > group.shown)
      rest.add(fmt::format("{}{{shown}} of {{all}}{} of {{layer}}", rest.empty() ? "" : ", ",
                           rest.empty() ? " operations" : ""),
               {count_value("shown", group.shown), count_value("all", group.all),
                text_value("layer", group.name)});
  }
  if (!rest.empty())
    rest.add(fmt::format("; all: add {}--top {}", more_options(subject), largest));
  return rest;
}

} // namespace iotrail::output

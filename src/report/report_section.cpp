// SPDX-License-Identifier: BSD-3-Clause
#include "report/report_section.hpp"

#include "analysis/engine/sql_text.hpp"
#include "report/sample.hpp"
#include "text/printable.hpp"
#include "text/table.hpp"
#include "text/units.hpp"

namespace iotrail::output {

namespace {

constexpr std::string_view kDash = "-";

std::string number_text(Show show, std::uint64_t number) {
  switch (show) {
  case Show::count:
    return human_count(number);
  case Show::count_or_dash:
    return number == 0 ? std::string(kDash) : human_count(number);
  case Show::bytes:
    return human_bytes(number);
  case Show::bytes_or_dash:
    return number == 0 ? std::string(kDash) : human_bytes(number);
  case Show::duration:
    return human_duration(number);
  default:
    return {};
  }
}

std::string known_text(const SmallResult& rows, std::size_t row, const SectionColumn& column,
                       const Sample& sample) {
  switch (column.show) {
  case Show::text:
  case Show::digits:
    return rows.text(row, column.name);
  case Show::seconds:
    return fmt::format("{:.6f}", rows.real(row, column.name));
  case Show::share:
    return short_share(rows.real(row, column.name));
  case Show::ratio:
    return fmt::format("x {:.2f}", rows.real(row, column.name));
  default: {
    const std::uint64_t number = rows.number(row, column.name);
    const std::uint64_t stands_for = column.is_sum ? sample.stands_for(rows.text(row, "layer")) : 1;
    return estimate_mark(number, stands_for) + number_text(column.show, scaled(number, stands_for));
  }
  }
}

std::string cell_text(const SmallResult& rows, std::size_t row, const SectionColumn& column,
                      const Sample& sample) {
  if (!column.instead.empty())
    if (std::string text = rows.text(row, column.instead); !text.empty())
      return text;
  if (rows.is_null(row, column.name))
    return column.show == Show::text ? std::string() : std::string(kDash);
  if (column.when == When::changed && row > 0 &&
      rows.text(row - 1, column.name) == rows.text(row, column.name))
    return {};
  return known_text(rows, row, column, sample);
}

bool is_shown(const SmallResult& rows, const SectionColumn& column) {
  if (column.when != When::known)
    return true;
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (!rows.is_null(row, column.name))
      return true;
  return false;
}

// What says nothing is left out before anything else, and what must be seen never, nor what the rows are sorted by.
int rank_of(const SmallResult& rows, const SectionColumn& column, const SectionOptions& options,
            const Sample& sample) {
  constexpr int kFirst = 100;
  if (column.name == options.sort)
    return 0;
  bool is_empty = true;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (column.is_alarm && rows.number(row, column.name) > 0)
      return 0;
    const std::string cell = cell_text(rows, row, column, sample);
    is_empty = is_empty && (cell.empty() || cell == kDash);
  }
  return column.rank == 0 || !is_empty ? column.rank : kFirst + column.rank;
}

// The title that a person knows a column by.
std::string_view title_of(const Section& section, std::string_view name) {
  for (const SectionColumn& column : section.columns)
    if (column.name == name)
      return column.title;
  return name;
}

void print_title(const Section& section, const SectionOptions& options, const SmallResult& rows,
                 Sink& sink) {
  std::string layer;
  if (!section.layer_phrase.empty() && rows.size() > 0)
    layer = rows.text(0, "layer");
  sink.print("{}{}{}", section.title, layer.empty() ? std::string_view{} : section.layer_phrase,
             printable(layer));
  const std::string_view order =
      options.sort.empty() ? section.order_words : title_of(section, options.sort);
  sink.print("{}{}\n", order.empty() ? "" : ", by ", order);
}

} // namespace

std::string section_sql(const Section& section, const SectionOptions& options) {
  const std::string order =
      options.sort.empty()
          ? std::string(section.order)
          : fmt::format("{} DESC NULLS LAST, {}", analysis::sql_name(options.sort), section.order);
  const std::string groups =
      section.group.empty() ? "" : fmt::format("PARTITION BY {} ", section.group);
  const std::uint64_t rows = options.rows == 0 ? section.rows : options.rows;
  const std::string limit =
      rows == 0 || options.all_rows ? "" : fmt::format(" WHERE place <= {}", rows);
  return fmt::format("SELECT * EXCLUDE (place) FROM (SELECT *, row_number() OVER ({}ORDER BY {}) "
                     "AS place FROM ({}) AS s)"
                     " AS r{} ORDER BY {}{}place",
                     groups, order, section.sql, limit, section.group_order,
                     section.group_order.empty() ? "" : ", ");
}

void print_wrapped(std::string_view text, Sink& sink, std::size_t width) {
  for (const std::string& line : wrapped(text, width - 2))
    sink.print("  {}\n", line);
}

void note_rest(const SmallResult& rows, Sink& sink, std::string_view what,
               std::string_view subject) {
  const std::uint64_t all = rows.size() == 0 ? 0 : rows.number(0, "all_rows");
  if (all <= rows.size())
    return;
  const std::string table = subject.empty() ? "" : fmt::format("--by {} ", subject);
  sink.print("  {} of {} {}; all: add {}--top {}\n", human_count(rows.size()), human_count(all),
             what, table, all);
}

bool has_text(const Section& section, const SmallResult& rows) {
  return rows.size() > 0 || !section.if_empty.empty();
}

void print_section(const Section& section, const SectionOptions& options, const SmallResult& rows,
                   const store::TraceReader& trace, Sink& sink, std::size_t width) {
  print_title(section, options, rows, sink);
  if (rows.size() == 0)
    return sink.print("  {}\n", section.if_empty);
  const Sample sample(trace.manifest().sample_of);
  std::vector<const SectionColumn*> shown;
  std::vector<TextTable::Column> titles;
  for (const SectionColumn& column : section.columns)
    if (is_shown(rows, column)) {
      shown.push_back(&column);
      titles.push_back({std::string(column.title),
                        column.show == Show::text ? Align::left : Align::right, column.fit,
                        rank_of(rows, column, options, sample)});
    }
  TextTable table(std::move(titles));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::vector<std::string> cells;
    for (const SectionColumn* column : shown)
      cells.push_back(cell_text(rows, row, *column, sample));
    table.add(std::move(cells));
  }
  table.print(sink, "  ", width);
  if (section.add_notes)
    section.add_notes(rows, trace, sink, width);
}

} // namespace iotrail::output

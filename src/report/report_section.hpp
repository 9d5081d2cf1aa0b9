// SPDX-License-Identifier: BSD-3-Clause
//
// A section of the report is data: a query, a title, and how each column is shown.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "analysis/engine/engine.hpp"
#include "report/small_result.hpp"
#include "text/sink.hpp"
#include "text/table.hpp"

namespace iotrail::output {

// How a column's values are shown; NULL is a dash, but for text. Text stands left, all else right.
enum class Show : std::uint8_t {
  text,
  digits,        // as the query has it
  count,         // 1,234
  count_or_dash, // 0 is a dash
  bytes,
  bytes_or_dash,
  duration,
  seconds, // 0.000123
  share,   // 12.3 %
  ratio,   // x 1.50
};

enum class When : std::uint8_t {
  always,
  changed, // left blank where it is the same as in the row above
  known,   // the whole column is left out where no row has a value
};

struct SectionColumn {
  std::string_view title;
  std::string_view name; // of the query
  Show show = Show::text;
  When when = When::always;
  Fit fit = Fit::whole;
  int rank = 0;                  // as of TextTable::Column
  std::string_view instead = {}; // a text column shown where it is not empty; "": none
  bool is_alarm = false;         // never left out where any row has more than 0
  bool is_sum =
      false; // over operations of the row's layer or, if it has none, calls: of a sample, an estimate is shown
};

struct Section {
  std::string_view name; // its key in JSON
  std::string_view title{};
  std::string_view view{}; // that it is made of, with more columns; "": none
  std::string_view
      layer_phrase{}; // ends the title with the column `layer` of the first row; "": does not
  std::string_view if_empty{}; // what stands for a table without rows; "": the section is left out
  std::string_view sql;        // all rows
  std::string_view order;      // which of them come first
  std::string_view order_words{}; // the same for people, at the end of the title
  std::string_view group{}; // column of groups that each have as many rows as are shown; "": none
  std::string_view group_order{};
  std::uint64_t rows = 0; // how many are shown unless asked for more or fewer; 0: all
  std::span<const SectionColumn> columns{};
  std::uint64_t most_events = UINT64_MAX; // of a larger trace the report does without it
  void (*add_notes)(const SmallResult& rows, const store::TraceReader& trace, Sink& sink,
                    std::size_t width) = nullptr;
};

// Which rows of a section, and how.
struct SectionOptions {
  std::uint64_t rows = 0; // 0: as many as the section says
  std::string sort{};     // a column whose largest values come first; empty: as the section says
  bool all_rows = false;
};
std::string section_sql(const Section& section, const SectionOptions& options);

// A note below a table.
void print_wrapped(std::string_view text, Sink& sink, std::size_t width);

// The note "5 of 21 files; all: ..." where the section's query says in `all_rows` that there are more. `subject`: the table's
// name for `report --by`; empty: it has none.
void note_rest(const SmallResult& rows, Sink& sink, std::string_view what,
               std::string_view subject = {});

// False: there is nothing to print.
bool has_text(const Section& section, const SmallResult& rows);
void print_section(const Section& section, const SectionOptions& options, const SmallResult& rows,
                   const store::TraceReader& trace, Sink& sink, std::size_t width);

} // namespace iotrail::output

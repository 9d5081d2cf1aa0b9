// SPDX-License-Identifier: BSD-3-Clause
//
// The definition of a section: a query, a title, and the meaning of each column.
// sections/<topic>/<name>.cpp defines `SectionDefinition <name>_section()`; the build finds it
// (sections.hpp).
//
// The query selects all rows. make_section() orders, counts and cuts them, and sets the scale of a
// sample. A column name with a leading `_` is for people or for the section alone: JSON omits it.
// The column `layer`, else `_layer`, is the layer of a row's operations, which decides the row's
// scale.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"

namespace iotrail::output {

// Like Column of document.hpp.
struct ColumnDefinition {
  std::string_view title;
  std::string_view name; // in the query
  Meaning meaning = Meaning::text;
  Omit omit = Omit::never;
  bool suppress_repeats = false;
  bool zero_is_dash = false;
  int drop_priority = 0;
  bool never_drop = false;
  bool is_sum = false; // scaled like the row's layer or, without one, like calls
  std::string_view instead = {};
};

// Position of a section in each document; 0: not in it.
struct Ranks {
  int first_screen = 0;
  int devices_screen = 0; // the first screen of a trace without layers of calls
  int report = 0;
  int report_data = 0; // only in the report for programs
  int verify = 0;
  int stat = 0;
  int snapshot = 0;
  int profile = 0;
};

// The rows of a section by column name. A missing column is NULL.
class SectionRows {
public:
  explicit SectionRows(const Section& section) : section_(section) {}

  std::size_t size() const { return section_.rows.size(); }
  const Value& value(std::size_t row, std::string_view column) const;
  bool is_null(std::size_t row, std::string_view column) const {
    return !is_known(value(row, column));
  }
  std::uint64_t number(std::size_t row, std::string_view column) const {
    return number_of(value(row, column));
  }
  double real(std::size_t row, std::string_view column) const {
    return real_of(value(row, column));
  }
  std::string text(std::size_t row, std::string_view column) const {
    return text_of(value(row, column));
  }

private:
  const Section& section_;
};

struct SectionDefinition {
  std::string_view id; // its key in JSON
  Ranks ranks{};
  std::string_view subject{}; // for --by; "": none
  std::string_view title{};
  std::string_view view{};         // the view that it is made of, which has more columns; "": none
  std::string_view layer_phrase{}; // ends the title, with the first row's `layer`; "": not used
  std::string_view if_empty{};     // shown instead of an empty table; "": the section is omitted
  std::string_view sql;            // all rows
  std::string_view order;          // order of the rows
  std::string_view order_label{};  // the order in words, at the end of the title
  std::string_view group{};        // column of groups, each cut off at `rows`; "": none
  std::string_view group_order{};
  std::uint64_t rows = 0; // number of shown rows by default; 0: all
  std::span<const ColumnDefinition> columns{};
  std::string_view
      event{}; // the report omits the section for a trace without this event; "": never
  std::uint64_t most_events = UINT64_MAX; // the report omits the section for a larger trace
  void (*add_notes)(const SectionRows& rows, const store::TraceReader& trace,
                    Section& section) = nullptr;
  bool notes_without_rows = false; // add_notes() is called even if there are no rows
};

// The order of all layers.
inline constexpr std::string_view kLayerOrder = "_depth NULLS LAST, layer";

// Selects and orders the rows of a section.
struct SectionOptions {
  std::uint64_t rows = 0; // 0: the section's default
  // Name of the column to sort by, largest first; empty: the section's order.
  std::string sort{};
  bool all_rows = false;
};

// Makes the section as values, without notes. `failure` is set if the trace does not allow it.
Section make_section(analysis::Engine& engine, const SectionDefinition& definition,
                     const SectionOptions& options);

// A section without a query. Columns without a title are for programs only.
Section make_table(std::string_view id, std::string_view title,
                   std::span<const ColumnDefinition> columns, std::vector<std::vector<Value>> rows);

// Call it after all queries: damage is known as far as the trace has been read.
void add_notes(const store::TraceReader& trace, const SectionDefinition& definition,
               Section& section);

// Adds the note "5 of 21 files; all: ..." if there are more rows than shown. `subject`: the table's
// name for `--by`; empty: none.
void note_rest(Section& section, std::string_view things, std::string_view subject = {});

// Notes how many completions are lost, if any: a function for `add_notes`.
void note_lost_completions(const SectionRows& rows, const store::TraceReader& trace,
                           Section& section);

// Notes that transfers of io_uring and libaio, which are no calls with bytes, are only in the
// columns of devices.
void note_asynchronous(const store::TraceReader& trace, Section& section);

// The same for groups: "5 of 14 operations of syscall; all: ..."; empty: no group was cut off.
Sentence rest_of_groups(const Section& section, std::string_view subject = {});

} // namespace iotrail::output

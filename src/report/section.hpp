// SPDX-License-Identifier: BSD-3-Clause
//
// The definition of a section: a query, a title, and the meaning of each column. sections/<topic>/<name>.cpp defines one as
// `SectionDefinition <name>_section()`; the build finds it by itself (sections.hpp).
//
// The query selects all rows. make_section() orders and cuts them, counts all, and says how a sample is scaled. A column with
// a name that begins with `_` is for people or for the section alone: JSON does not have it. The column `layer`, or else
// `_layer`, names the layer of a row's operations, which decides how the row is scaled.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"

namespace iotrail::output {

// As Column of document.hpp.
struct ColumnDefinition {
  std::string_view title;
  std::string_view name; // of the query
  Meaning meaning = Meaning::text;
  Omit omit = Omit::never;
  bool suppress_repeats = false;
  bool zero_is_dash = false;
  int drop_priority = 0;
  bool never_drop = false;
  bool is_sum = false; // of the row's layer or, if it has none, of calls
  std::string_view instead = {};
};

// Where a section comes in a document; 0: it is not in it.
struct Ranks {
  int report = 0;
  int report_data = 0; // in the report for programs alone
  int verify = 0;
  int stat = 0;
};

// The rows of a section by the names of its columns. A column that is not there is NULL.
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
  std::string_view subject{}; // its name for --by; "": it has none
  std::string_view title{};
  std::string_view view{}; // that it is made of, with more columns; "": none
  std::string_view
      layer_phrase{}; // ends the title with the column `layer` of the first row; "": does not
  std::string_view if_empty{}; // what stands for a table without rows; "": the section is left out
  std::string_view sql;        // all rows
  std::string_view order;      // which of them come first
  std::string_view order_label{}; // the same for people, at the end of the title
  std::string_view group{}; // column of groups that each have as many rows as are shown; "": none
  std::string_view group_order{};
  std::uint64_t rows = 0; // how many are shown unless asked for more or fewer; 0: all
  std::span<const ColumnDefinition> columns{};
  std::uint64_t most_events = UINT64_MAX; // of a larger trace the report does without it
  void (*add_notes)(const SectionRows& rows, const store::TraceReader& trace,
                    Section& section) = nullptr;
  bool notes_without_rows = false; // add_notes() is called even if there are no rows
};

// The order of all layers.
inline constexpr std::string_view kLayerOrder = "_depth NULLS LAST, layer";

// Which rows of a section, and how.
struct SectionOptions {
  std::uint64_t rows = 0; // 0: as many as the section says
  std::string sort{};     // a column whose largest values come first; empty: as the section says
  bool all_rows = false;
};

// The section as values, without its notes. Where the trace does not allow it, with the failure.
Section make_section(analysis::Engine& engine, const SectionDefinition& definition,
                     const SectionOptions& options);

// Damage is known as far as the trace has been read, so notes come after all queries.
void add_notes(const store::TraceReader& trace, const SectionDefinition& definition,
               Section& section);

// The note "5 of 21 files; all: ...", if there are more rows than are shown. `subject`: the table's name for `--by`;
// empty: it has none.
void note_rest(Section& section, std::string_view things, std::string_view subject = {});

// Where transfers through io_uring and libaio, which are no calls with bytes, are in the columns of devices alone.
void note_asynchronous(const store::TraceReader& trace, Section& section);

// The same as a sentence where the rows of each group are cut off: "5 of 14 operations of syscall; all: ..."; empty: none was.
Sentence rest_of_groups(const Section& section, std::string_view subject = {});

} // namespace iotrail::output

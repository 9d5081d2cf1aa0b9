// SPDX-License-Identifier: BSD-3-Clause
//
// A document about a trace, as values: src/render/ decides how it looks. It has a title, facts,
// warnings and sections. A section is a table, sentences, or both. No text in it is formatted:
// numbers keep their unit, and a sentence names its numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace iotrail::output {

// The meaning of a value, and with it its unit.
enum class Meaning : std::uint8_t {
  text,    // also a sentence with values of other columns, on one line
  path,    // a long name that differs from others at both ends: a path, an address, a control group
  command, // a long text that differs from others at its beginning: a command, a list
  sentence, // a text of several words
  shell,    // a command to copy into a shell: never broken into lines
  id,       // the number of a thing: a pid, a sector
  count,
  bytes,
  ns,     // a duration
  change, // a difference of durations, shown with its sign
  second, // seconds since the begin of the recording
  share,  // a fraction of 1
  ratio,  // a factor
  date,   // nanoseconds of CLOCK_REALTIME
  status, // the exit status of a program
  spans,  // periods beside one another
  remark, // a sentence with values of other columns
  label,  // the same, or a text of words: continued below in a narrow column
};
std::string_view meaning_name(Meaning meaning); // "ns"

struct Span {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;

  std::uint64_t length_ns() const { return end_ns > begin_ns ? end_ns - begin_ns : 0; }
};

// Periods within a longer one.
struct Spans {
  Span whole;
  std::vector<Span> parts;
};

// A value in JSON already: a list, a structure, a number of more than 64 bits.
struct JsonText {
  std::string text;
};

struct Sentence;

// monostate: not known. A vector has one sentence.
using Value = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string,
                           JsonText, Spans, std::vector<Sentence>>;

std::uint64_t number_of(const Value& value); // 0: unknown, negative, or no integer
double real_of(const Value& value);          // 0: unknown, or no number
std::string text_of(const Value& value);     // numbers in plain digits; "": unknown
inline bool is_known(const Value& value) {
  return !std::holds_alternative<std::monostate>(value);
}

struct NamedValue {
  std::string name;
  Value value;
  Meaning meaning = Meaning::text;
};

// "{shown} of {all} files" and the values of `shown` and `all`. Only values may hold text of a trace.
struct Sentence {
  std::string pattern{};
  std::vector<NamedValue> values{};

  bool empty() const { return pattern.empty(); }
  // Appends text. A value with a name in use gets another one: `all_2`.
  Sentence& add(std::string_view more, std::vector<NamedValue> named = {});
};
Sentence sentence(std::string_view pattern, std::vector<NamedValue> named = {});
// A sentence that consists of one value.
Sentence only(NamedValue value);

// A command on a trace, to be copied into a shell: "iotrail report {}", {} being the trace.
Sentence command_on(std::string_view pattern, const std::string& trace);

inline NamedValue count_value(std::string name, std::uint64_t count) {
  return {std::move(name), count, Meaning::count};
}
inline NamedValue bytes_value(std::string name, std::uint64_t bytes) {
  return {std::move(name), bytes, Meaning::bytes};
}
inline NamedValue ns_value(std::string name, std::uint64_t ns) {
  return {std::move(name), ns, Meaning::ns};
}
inline NamedValue share_value(std::string name, double share) {
  return {std::move(name), share, Meaning::share};
}
inline NamedValue text_value(std::string name, std::string text) {
  return {std::move(name), std::move(text), Meaning::text};
}

struct Fact {
  std::string name; // "": continues the fact before
  Sentence value;
};

// Conditions for omitting a column without information.
enum class Omit : std::uint8_t {
  never,
  if_unknown,     // in every row
  if_zero,        // in every row
  if_at_most_one, // in every row
};

struct Column {
  std::string name;    // of the view; with `_` before it: made of other columns, for people only
  std::string title{}; // "" with is_shown false: for programs only
  Meaning meaning = Meaning::text;
  Omit omit = Omit::never;
  bool suppress_repeats = false; // leaves a value blank that equals the one above
  bool zero_is_dash = false;
  int drop_priority = 0;   // if room is short, the highest one is dropped first; 0: never
  bool never_drop = false; // if any row has more than 0
  bool is_sum = false;     // over operations: in a sample, the row's scale_factor scales it
  std::string instead{};   // name of the column with a text that replaces the value, if it has one
};

struct Row {
  std::vector<Value> values;      // one for each column
  std::uint64_t scale_factor = 1; // how many operations each recorded one stands for
};

// Groups of rows, each cut off separately.
struct Group {
  std::string name;
  std::uint64_t shown = 0;
  std::uint64_t all = 0;
};

struct Section {
  std::string id;
  Sentence title{};
  std::string view{};        // the SQL view that the section is made of
  std::string if_empty{};    // shown instead of an empty table; "": nothing
  std::vector<Fact> facts{}; // order of the output: facts, sentences, the table, notes
  std::vector<Sentence> intro{};
  std::vector<Column> columns{};
  std::vector<std::size_t> shown{}; // columns for people, from left to right
  std::vector<Row> rows{};
  std::uint64_t all_rows = 0; // number of all rows; `rows` has the first of them
  std::vector<Group> groups{};
  std::vector<Sentence> notes{};
  std::vector<Section> children{}; // none, or one for each row: its parts
  std::optional<Error> failure{};  // the trace does not allow this section
};

struct Document {
  std::string trace{}; // its path
  Sentence title{};
  std::vector<Fact> facts{};
  std::vector<Sentence> warnings{}; // why the document may be incomplete
  std::vector<Section> sections{};
  std::vector<Sentence> closing{};
  // The option of its verb that has the columns for which a table has no room; empty: the table does
  // not name them.
  std::string all_columns = "--json";
};

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
//
// What is said about a trace, as values: src/render/ decides how it looks. A document has a title, facts, warnings and
// sections. A section is a table, sentences, or both. No text in it is formatted: numbers keep their unit, and a sentence
// names the numbers that it has.
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
  text,
  path, // a name that may be long, and differs from others at both ends: a path, an address, a control group
  command,  // a text that may be long, and differs from others at its beginning: a command, a list
  sentence, // a text of several words
  id,       // a number that stands for a thing: a pid, a sector
  count,
  bytes,
  ns,     // a duration
  second, // seconds since the begin of the recording
  share,  // a part of 1
  ratio,  // how many times as much
  date,   // nanoseconds of CLOCK_REALTIME
  status, // the exit status of a program
  spans,  // periods beside one another
  remark, // a sentence with values of other columns
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

// A value that is JSON already: a list, a structure, a number of more than 64 bits.
struct JsonText {
  std::string text;
};

struct Sentence;

// monostate: not known. A vector has one sentence.
using Value = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string,
                           JsonText, Spans, std::vector<Sentence>>;

std::uint64_t number_of(const Value& value); // 0: not known, negative, or no integer
double real_of(const Value& value);          // 0: not known, or no number
std::string text_of(const Value& value);     // digits as they are; "": not known
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
  // Appends. A value with a name that is taken already gets another one: `all_2`.
  Sentence& add(std::string_view more, std::vector<NamedValue> named = {});
};
Sentence sentence(std::string_view pattern, std::vector<NamedValue> named = {});
// A sentence that is one value.
Sentence only(NamedValue value);

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
  std::string name; // "": it continues the one before
  Sentence value;
};

// When a column says nothing and is left out.
enum class Omit : std::uint8_t {
  never,
  if_unknown,     // in every row
  if_zero,        // in every row
  if_at_most_one, // in every row
};

struct Column {
  std::string
      name; // the view's; with `_` before it, a text for people that is made of other columns
  std::string title{}; // "" with is_shown false: for programs only
  Meaning meaning = Meaning::text;
  Omit omit = Omit::never;
  bool suppress_repeats = false; // a value that is the same as in the row above is left blank
  bool zero_is_dash = false;
  int drop_priority = 0;   // if room is short, the highest is dropped first; 0: never
  bool never_drop = false; // where any row has more than 0
  bool is_sum = false;     // over operations: of a sample, it is scaled by the row's scale_factor
  std::string instead{};   // the column with a text that is shown where there is one
};

struct Row {
  std::vector<Value> values;      // one for each column
  std::uint64_t scale_factor = 1; // how many operations each recorded one stands for
};

// Rows of a section that are cut off one group at a time.
struct Group {
  std::string name;
  std::uint64_t shown = 0;
  std::uint64_t all = 0;
};

struct Section {
  std::string id;
  Sentence title{};
  std::string view{};        // of SQL, that it is made of
  std::string if_empty{};    // what stands for a table without rows; "": nothing does
  std::vector<Fact> facts{}; // in this order: facts, sentences, the table, notes
  std::vector<Sentence> intro{};
  std::vector<Column> columns{};
  std::vector<std::size_t> shown{}; // which columns people see, from left to right
  std::vector<Row> rows{};
  std::uint64_t all_rows = 0; // of which `rows` are the first
  std::vector<Group> groups{};
  std::vector<Sentence> notes{};
  std::vector<Section> children{}; // none, or one for each row: its parts
  std::optional<Error> failure{};  // the trace does not allow this section
};

struct Document {
  std::string trace{}; // its path
  Sentence title{};
  std::vector<Fact> facts{};
  std::vector<Sentence> warnings{}; // why the rest may not be the whole truth
  std::vector<Section> sections{};
  std::vector<Sentence> closing{};
};

} // namespace iotrail::output

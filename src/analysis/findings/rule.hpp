// SPDX-License-Identifier: BSD-3-Clause
//
// The rules that find out why I/O is slow. A rule is one file findings/*.sql: comment lines with its
// facts, then a SELECT. Each row of the SELECT is a finding, with its evidence as columns.
//
//   -- id: F01                     stable; never given to another rule
//   -- title: tiny writes          names the finding in a few words
//   -- severity: warning           critical: wrong or dangerous; warning: costs time; note: worth
//                                  knowing
//   -- needs: calls, block         layers and events without which it cannot be judged; if one has
//                                  no rows, it finds nothing; `calls`: any layer at which programs
//                                  ask for I/O
//   -- rows: calls >= $calls       optional; with fewer rows of an event, a layer or `calls` it finds
//                                  nothing, so that its SELECT is not run; without the limit: no rows.
//                                  `A or B` adds up; `A.bytes` is the bytes of all rows, `A.errors`
//                                  and `A.discard` the rows with an error and with that operation,
//                                  `waits.memory` the waits, if any has that reason
//   -- merges: syncs               optional; findings of rules with this word have one cause, and
//                                  are shown as one
//   -- limit: calls = 1000; fewer calls are no finding
//   -- sentence: {program} wrote {subject} in {calls} calls.
//   -- advice: Collect the data[; the limit is {limit_bytes} now].
//
// A line that begins with `--   ` continues the one above it. {column} in the sentence and the
// advice is a value of the row; a part in brackets is left out where a value of it is NULL. `$calls`
// in the SELECT is the value of the limit. The SELECT has at least these columns:
//   subject         what the finding is about: a path, a device, a program
//   could_save_ns   the most time that the run can become shorter by; 0: unknown. Never a sum over
//                   tasks that worked at the same time: use union_length()
//   op_id           one operation of it, the slowest; NULL: none
// and may have
//   merges          the word of the rules with the same cause, if this row has it
// A column's unit follows from its name: *_ns a duration, *bytes bytes, *share a part of 1,
// *ratio a factor; any other number is a count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace iotrail::analysis {

enum class FindingSeverity : std::uint8_t { critical, warning, note };

std::string_view severity_name(FindingSeverity severity);

struct RuleLimit {
  std::string name; // "calls"
  double value = 0;
  std::string meaning;
};

// The least number of rows for a finding.
struct RuleRows {
  std::string of;    // as in `needs`
  std::string limit; // empty: one row
};

struct Rule {
  std::string name; // of its file: "tiny_writes"; its view is finding_tiny_writes
  std::string id;   // "F01"
  std::string title;
  FindingSeverity severity = FindingSeverity::note;
  std::vector<std::string> needs;
  std::vector<RuleRows> rows;
  std::string merges; // empty: it stands alone
  std::vector<RuleLimit> limits;
  std::string sentence;
  std::string advice;
  std::string sql; // with $limits
};

// A file as built into the program.
struct RuleFile {
  std::string_view name;
  std::string_view text;
};
std::vector<RuleFile> rule_files(); // sorted by name

// Fails with the line that does not fit the grammar above.
Result<Rule> parse_rule(const RuleFile& file);

// All rules, in the order of their ids.
std::span<const Rule> finding_rules();

// Limits that differ from the rules' own: "F01.calls" -> 500.
using Limits = std::map<std::string, double>;

// Adds "F01.calls=500" to the limits. Fails for a limit that no rule has, naming those there are.
Result<void> add_limit(std::string_view text, Limits& limits);

// nullptr: the rule has no such limit.
const RuleLimit* find_limit(const Rule& rule, std::string_view name);
// The value of one of the rule's limits.
double limit_value(const Rule& rule, const RuleLimit& limit, const Limits& limits);

// The SELECT with the limits as numbers, and "CREATE VIEW finding_tiny_writes AS SELECT ...".
std::string rule_sql(const Rule& rule, const Limits& limits);
std::string rule_view_sql(const Rule& rule, const Limits& limits);

// Whether so few rows cannot make a finding. `rows_of` counts the rows of what `needs` can name.
template <class RowsOf>
bool has_too_few_rows(const Rule& rule, const Limits& limits, const RowsOf& rows_of) {
  const auto is_short = [&](const RuleRows& rows) {
    const RuleLimit* limit = find_limit(rule, rows.limit);
    return static_cast<double>(rows_of(rows.of)) <
           (limit == nullptr ? 1 : limit_value(rule, *limit, limits));
  };
  return std::ranges::any_of(rule.needs, [&](const auto& need) { return rows_of(need) == 0; }) ||
         std::ranges::any_of(rule.rows, is_short);
}

} // namespace iotrail::analysis

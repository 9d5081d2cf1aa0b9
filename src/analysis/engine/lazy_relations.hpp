// SPDX-License-Identifier: BSD-3-Clause
//
// The SQL that makes relations. Each is kept until a statement names it: making all of them takes
// ten times as long as most queries do.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace iotrail::analysis {

class LazyRelations {
public:
  // `sql` makes the relations after its CREATE VIEW and CREATE TABLE, at the beginning of lines. A
  // known relation keeps its definition: a later one with the same name, such as a table of a
  // foreign trace, is ignored. `what` names the SQL in messages. `fallback_sql` makes the same
  // relations if `sql` fails.
  void add(std::string what, std::string sql, std::string fallback_sql = {});
  // The same for each relation and each macro of a file of ours, with the statements up to the next
  // one. `kept` names the views that become tables.
  void add_file(std::string_view sql, std::span<const std::string> kept);

  struct Definition {
    std::string what;
    std::string sql;
    std::string fallback_sql; // "": none
  };
  // The definitions to run before `statement`, in this order, without those returned earlier: for
  // the relations and macros that it reads, and for those that their SQL reads. Too many cost only
  // time; for a relation that is missed, the caller takes all.
  std::vector<Definition> take_for(std::string_view statement);
  // `prefers_fallback`: relations that have a fallback are made by it.
  std::vector<Definition> take_all(bool prefers_fallback = false);
  std::vector<std::string_view> names() const; // of all relations
  // Whether `message` has the name of a relation or macro that is not taken.
  bool names_one_not_taken(std::string_view message) const;

private:
  struct Entry {
    Definition definition;
    bool is_taken = false;
  };
  void add_entry(std::span<const std::string> names, Definition definition);
  void take(std::string_view statement, std::vector<Definition>& taken);
  void take(Entry& entry, std::vector<Definition>& taken);

  std::vector<Entry> entries_;
  // By name in small letters; a macro's name ends in `(`.
  std::map<std::string, std::size_t, std::less<>> entry_of_;
};

// The names in a statement in lower case, without strings, comments and function calls.
std::vector<std::string> names_in(std::string_view sql);

// The words after the first WHERE, GROUP, HAVING, ORDER or QUALIFY, in small letters: columns that
// the statement filters or orders by, and others.
std::vector<std::string> names_of_conditions(std::string_view sql);

// The relations that a statement reads, and the functions that it calls, these with a `(` at the
// end, in lower case. Words such as IN before a parenthesis count as calls. A relation is missed if its schema stands before it.
std::vector<std::string> references_in(std::string_view sql);

// The statements of a file of ours, each with the comments before it.
std::vector<std::string_view> statements_of(std::string_view sql);

// Whether a statement may list relations that it does not name.
bool lists_relations(std::string_view sql);

} // namespace iotrail::analysis

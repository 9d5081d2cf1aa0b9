// SPDX-License-Identifier: BSD-3-Clause
//
// The SQL that makes relations, each kept until a statement names what it makes: to make all of them takes ten times as
// long as most queries do.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace iotrail::analysis {

class Definitions {
public:
  // `sql` makes the relations after its CREATE VIEW and CREATE TABLE, at the beginning of lines. A relation that is
  // already known keeps its definition: what comes later under its name, as a table of a foreign trace, is passed over.
  // `what` names the SQL in messages. `fallback_sql` makes the same relations where `sql` fails.
  void add(std::string what, std::string sql, std::string fallback_sql = {});

  struct Definition {
    std::string what;
    std::string sql;
    std::string fallback_sql; // "": none
  };
  // What has to be run, in this order, before `statement`, and was not handed out before: the definitions of all names in
  // it, and of those in their SQL. A name that only looks like one costs time and nothing else.
  std::vector<Definition> take_for(std::string_view statement);
  std::vector<Definition> take_all();

private:
  struct Entry {
    Definition definition;
    bool is_taken = false;
  };
  void take(std::string_view statement, std::vector<Definition>& taken);
  void take(Entry& entry, std::vector<Definition>& taken);

  std::vector<Entry> entries_;
  std::map<std::string, std::size_t, std::less<>> entry_of_; // by name in small letters
};

// The names in a statement in small letters: what is not in a string or a comment, and no call of a function.
std::vector<std::string> names_in(std::string_view sql);

// Whether a statement may list relations that it does not name.
bool lists_relations(std::string_view sql);

} // namespace iotrail::analysis

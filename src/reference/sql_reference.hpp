// SPDX-License-Identifier: BSD-3-Clause
//
// What can be asked of a trace in SQL: tables, views and functions, with what they and their columns mean. Taken from the
// schema and from the comments of the views (src/analysis/views), so that it is written down once.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "text/sink.hpp"

namespace iotrail::output {

enum class RelationKind : std::uint8_t { view, event, dictionary, function };

struct RelationColumn {
  std::string names; // "op_id, pid": what one line tells of several
  std::string doc;
};

struct Relation {
  RelationKind kind;
  std::string name; // of a function with its arguments
  std::string doc;
  std::vector<RelationColumn> columns;
};

std::vector<Relation> sql_relations(); // views, then events, dictionaries and functions

// What a column of one of `relations` means. Where that says that it, or all, are as in another one, it is that one which tells.
// Empty: nobody tells.
std::string column_doc(std::span<const Relation> relations, const Relation& relation,
                       std::string_view column);

// docs/sql.md
std::string sql_markdown();

// `query --tables`: each with its rows, where they are known, and its first sentence.
Result<void> print_relations(analysis::Engine& engine, Sink& sink, std::size_t width);
// `query --describe NAME`: columns with types, units and meanings.
Result<void> print_relation(analysis::Engine& engine, std::string_view name, Sink& sink,
                            std::size_t width);

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
//
// The SQL reference: tables, views and functions, with the meanings of their columns. It comes from
// the schema and the comments of the views (src/analysis/views), so that each meaning is written
// once.
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
  std::string names; // "op_id, pid" if one line documents several
  std::string doc;
};

struct Relation {
  RelationKind kind;
  std::string name; // a function's name includes its arguments
  std::string doc;
  std::vector<RelationColumn> columns;
};

std::vector<Relation> sql_relations(); // views, then events, dictionaries and functions

// The views of findings, one for each rule. No document lists them: the table finding_rules does.
std::vector<Relation> finding_relations();

// The meaning of a column of one of `relations`. If the relation or column refers to another
// relation ("as in"), the meaning comes from there. Empty: not documented.
std::string column_doc(std::span<const Relation> relations, const Relation& relation,
                       std::string_view column);

// docs/sql.md
std::string sql_markdown();

// `query --tables`: each relation with its number of rows, if known, and its first sentence.
Result<void> print_relations(analysis::Engine& engine, Sink& sink, std::size_t width);
// `query --describe NAME`: columns with types, units and meanings.
Result<void> print_relation(analysis::Engine& engine, std::string_view name, Sink& sink,
                            std::size_t width);

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
//
// The SQL made from the trace itself, on which views/*.sql build: a view per table, the view
// `events`, and small tables of the manifest. The roles in the trace's schema (schema/roles.def)
// decide which column of an event is its bytes, its error or its file. So an event of another
// version of iotrail fits in as well. views/00_duckdb.sql documents the contents, for `query
// --describe` and docs/sql.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/engine/lazy_relations.hpp"
#include "analysis/findings/rule.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::analysis {

// Restricts `events`, and so all views.
struct Selection {
  std::uint64_t since_ns = 0; // after the begin of the recording
  std::uint64_t until_ns = 0; // 0: its end
  std::string process{};      // pid of a process, or its name at the time; empty: all
  std::string file{};         // shell pattern for paths; empty: all
};

using Tables = std::span<const store::TableInfo>;

// The tables of the trace's schema. Columns of this version that the trace is too old to have
// follow at the end; they are NULL, so that a view of this version fits an older trace.
std::vector<store::TableInfo> tables_of(const store::TraceReader& reader);

// The class of an event, made from its columns.
std::string class_sql(const store::TableInfo& table);
std::string macros_sql();
std::string schema_macros_sql(); // of rows of schema/*.def
std::string layer_macros_sql(const store::TraceReader& reader, Tables tables);
void add_manifest_tables(LazyRelations& definitions, const store::TraceReader& trace);
void add_schema_tables(LazyRelations& definitions, Tables tables);
void add_table_list(LazyRelations& definitions, const store::TraceReader& reader);
void add_causes(LazyRelations& definitions);
void add_all_events(LazyRelations& definitions, const store::TraceReader& reader, Tables tables);
void add_selection(LazyRelations& definitions, const Selection& selection,
                   const store::Manifest& manifest);
void add_finding_rules(LazyRelations& definitions, const Limits& limits);
void add_trace_tables(LazyRelations& definitions, const store::TraceReader& reader, Tables tables);

// Whether a relation with a row for each event is too large to be computed before it is read.
bool is_large(const store::TraceReader& reader);

} // namespace iotrail::analysis

// SPDX-License-Identifier: BSD-3-Clause
//
// SQL over one trace. Every table of the trace's own schema is a table of the same name;
// views/*.sql build on those. Nothing is imported: blocks are decoded while a query runs. The
// network is never used. A query is one statement that only reads the trace: no file, no extension,
// no setting, unless external_access is set.
//
// What a query can name, besides the tables of the schema:
//   events           all events of all layers in a common shape (see relations.hpp)
//   tables           the tables of the schema with their numbers of rows
//   value_names, layer_list   the names of numbers, the layers from the top down (relations.hpp)
//   manifest         key, value: facts about the trace itself
//   hooks, counters  the hook of each event; every counter with its severity and value
//   finding_rules, finding_limits, and a view finding_NAME for each rule of findings/*.sql
//   and the views of views/*.sql, each documented there column by column. What an older trace lacks
//   is NULL or empty; if a view still does not fit, it alone is missing, and a failed query reports
//   it.
// Each is defined when a query first names it (definitions.hpp). A foreign trace's table of the
// same name does not replace it; events has its rows.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/engine/chunks.hpp"
#include "analysis/engine/query_timer.hpp"
#include "analysis/engine/relations.hpp"
#include "analysis/engine/rows.hpp"
#include "analysis/findings/rule.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::analysis {

struct EngineOptions {
  unsigned threads = 0; // 0: one per CPU
  std::uint64_t memory_bytes =
      0; // 0: half of the machine's, at most 4 GiB; beyond it, the engine uses the disk
  std::uint64_t time_limit_ns = 0; // of each query, up to its last row; 0: none
  bool external_access =
      false; // a query may be any statements, read and write files, and load extensions
  Selection selection{};
  // The only file that write_parquet() writes; empty: none.
  std::string output{};
  // Views to compute once and keep, since several queries of the session read them.
  std::vector<std::string> kept_views{};
  Limits finding_limits{}; // those that differ from the rules' own
};

class Engine {
public:
  static Result<std::unique_ptr<Engine>> open(const std::filesystem::path& trace,
                                              const EngineOptions& options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const store::TraceReader& trace() const;
  const Limits& finding_limits() const;
  Progress& progress(); // of the work that the queries are for

  // For queries beyond the time limit of the options by a second.
  void set_on_overdue(OnOverdue on_overdue);

  // One query at a time; destroy the rows before the engine.
  Result<Rows> query(std::string_view sql);
  // The same for Arrow: numbers stay as stored. Destroy the chunks before the engine.
  Result<Chunks> query_for_arrow(std::string_view sql);
  // Writes all rows of a query to `output` of the options, which must exist, as Parquet: the types
  // are those of SQL, and numbers stay as stored. Returns the number of rows.
  Result<std::uint64_t> write_parquet(std::string_view sql);

private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A view of views/*.sql, as built into the program.
struct ViewFile {
  std::string_view name; // "top_files"
  std::string_view sql;
};
std::vector<ViewFile> view_files(); // sorted by name, in loading order

} // namespace iotrail::analysis

// SPDX-License-Identifier: BSD-3-Clause
#include "export/model/relations.hpp"

#include <algorithm>

namespace iotrail::output {

std::vector<std::string> relations_of(const store::TraceReader& trace) {
  std::vector<std::string> names;
  for (const store::TableInfo& table : trace.tables())
    if (trace.has_rows(table.kind))
      names.push_back(table.name);
  for (const char* view :
       {"events",     "operations", "file_calls",  "file_transfers", "links",    "waits",
        "op_time",    "layers",     "time_stacks", "byte_stacks",    "programs", "file_names",
        "file_paths", "causes",     "value_names", "layer_list",     "manifest", "hooks",
        "counters",   "sources",    "run"})
    if (std::ranges::find(names, view) == names.end())
      names.emplace_back(view);
  return names;
}

Result<std::unique_ptr<analysis::Engine>> writing_engine(const TraceInput& input) {
  return analysis::Engine::open(input.engine.trace().path(), {.external_access = true});
}

Result<void> run_statement(analysis::Engine& engine, const std::string& sql) {
  auto rows = engine.query(sql);
  if (!rows)
    return std::unexpected(rows.error());
  for (;;) {
    const auto more = rows->next();
    if (!more)
      return std::unexpected(more.error());
    if (!*more)
      return {};
  }
}

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
#include "cli/open_trace.hpp"

#include <vector>

#include "base/nearest_name.hpp"
#include "store/reader/repository.hpp"

namespace iotrail::cli {

Result<std::unique_ptr<analysis::Engine>> open_engine(const std::string& name,
                                                      const analysis::EngineOptions& options) {
  auto path = store::find_trace(name);
  if (!path)
    return std::unexpected(path.error());
  return analysis::Engine::open(*path, options);
}

Result<std::unique_ptr<store::TraceReader>> open_trace(const std::string& name) {
  auto path = store::find_trace(name);
  if (!path)
    return std::unexpected(path.error());
  return store::TraceReader::open(*path);
}

Result<const store::TableInfo*> find_table(const store::TraceReader& trace,
                                           const std::string& name) {
  if (const store::TableInfo* table = trace.table(name))
    return table;
  std::vector<std::string_view> names;
  for (const store::TableInfo& table : trace.tables())
    names.push_back(table.name);
  return fail_usage(fmt::format("there is no event or table '{}'", name),
                    "`iotrail schema` lists them", did_you_mean(name, names));
}

} // namespace iotrail::cli

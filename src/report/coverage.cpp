// SPDX-License-Identifier: BSD-3-Clause
#include "report/coverage.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/shell_word.hpp"
#include "dictionary_rows.hpp"

namespace iotrail::output {

namespace {

bool has_rows(const store::TraceReader& trace, std::string_view layer) {
  return std::ranges::any_of(trace.tables(), [&](const store::TableInfo& table) {
    return table.layer == layer && trace.has_rows(table.kind);
  });
}

// The command that says why something could not be recorded.
std::string reasons_of(const store::TraceReader& trace) {
  return fmt::format("iotrail info {} --wide", shell_word(trace.path().native()));
}

} // namespace

bool has_sums(const store::TraceReader& trace) {
  return trace.has_rows(rows::kind_of<rows::event_sums>);
}

std::string layer_not_recorded(const store::TraceReader& trace, std::string_view layer) {
  const store::Manifest& manifest = trace.manifest();
  if (manifest.layers.empty() || has_rows(trace, layer)) // no layers: the manifest is lost
    return {};
  if (std::ranges::find(manifest.layers, layer) == manifest.layers.end())
    return fmt::format("layer {} was not recorded", layer);
  if (has_sums(trace))
    return "`iotrail stat` adds events up and keeps none of them";
  const std::vector<std::string> refused = manifest.layers_refused();
  if (std::ranges::find(refused, layer) != refused.end())
    return fmt::format("layer {} could not be recorded; why: {}", layer, reasons_of(trace));
  return {};
}

std::string event_not_recorded(const store::TraceReader& trace, const store::TableInfo& table) {
  const store::Manifest& manifest = trace.manifest();
  if (table.is_dictionary() || trace.has_rows(table.kind))
    return {};
  if (const std::string why = layer_not_recorded(trace, table.layer); !why.empty())
    return fmt::format("no {}: {}", table.name, why);
  const auto hook = std::ranges::find(manifest.hooks, table.name, &store::HookReport::event);
  if (manifest.hooks.empty() || (hook != manifest.hooks.end() && !hook->hook.empty()))
    return {};
  return fmt::format("no {}: {}", table.name,
                     hook == manifest.hooks.end()
                         ? "the recording was not asked for it"
                         : "it could not be recorded; why: " + reasons_of(trace));
}

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/names/trace_dictionaries.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "analysis/names/file_paths.hpp"
#include "base/capped_sum.hpp"

namespace iotrail::analysis {

namespace {

using Map = std::unordered_map<std::uint64_t, std::string>;

// Calls `row(values, texts, i)` for each row of a table with two columns of the trace. A trace
// without the table or the columns has no such dictionary. The reader counts damaged blocks.
template <class Row>
void for_each_row(const store::TraceReader& trace, std::string_view table_name,
                  const std::vector<std::string_view>& wanted, Row row) {
  const store::TableInfo* table = trace.table(table_name);
  if (!table)
    return;
  std::vector<int> columns;
  for (const std::string_view name : wanted)
    columns.push_back(table->column(name));
  if (std::ranges::find(columns, -1) != columns.end())
    return;
  for (const store::BlockInfo& block : trace.blocks()) {
    if (block.kind != table->kind)
      continue;
    const auto read = trace.read(block, columns);
    if (!read)
      continue;
    for (std::size_t i = 0; i < block.rows; ++i)
      row(
          [&](std::size_t column) -> const store::Column& {
            return (*read)[static_cast<std::size_t>(columns[column])];
          },
          i);
  }
}

std::uint64_t stored_number(const store::Column& column, std::size_t row) {
  const auto* numbers = std::get_if<store::Numbers>(&column);
  return numbers ? (*numbers)[row] : 0;
}

std::string stored_text(const store::Column& column, std::size_t row) {
  const auto* texts = std::get_if<store::Texts>(&column);
  return texts ? (*texts)[row] : std::string{};
}

// Texts beyond the limit are treated as missing.
void load_map(const store::TraceReader& trace, std::string_view table, std::string_view key,
              std::string_view name, std::size_t most_bytes, Map& map) {
  std::size_t bytes = 0;
  for_each_row(trace, table, {key, name}, [&](auto column, std::size_t row) {
    std::string text = stored_text(column(1), row);
    bytes += text.size();
    if (bytes <= most_bytes)
      map[stored_number(column(0), row)] = std::move(text);
  });
  if (bytes > most_bytes)
    trace.add_limit(
        fmt::format("{} OF {} BYTES OF {}: more would need too much memory, and what is "
                    "beyond has no name.",
                    most_bytes, bytes, table));
}

std::string_view find(const Map& map, std::uint64_t key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string_view{} : found->second;
}

} // namespace

TraceDictionaries TraceDictionaries::load(const store::TraceReader& trace,
                                          std::size_t most_text_bytes) {
  TraceDictionaries dictionaries;
  TraceNames names = find_names(trace);
  for (FilePath& path : names.paths)
    dictionaries.files_[path.file].push_back({path.since_ns, std::move(path.shown_path)});
  load_map(trace, "strings", "string", "text", most_text_bytes, dictionaries.texts_);
  load_map(trace, "devices", "device", "name", most_text_bytes, dictionaries.devices_);
  for_each_row(trace, "processes", {"since_ns", "pid", "comm"}, [&](auto column, std::size_t row) {
    dictionaries.programs_[stored_number(column(1), row)].push_back(
        {stored_number(column(0), row), stored_text(column(2), row)});
  });
  for (auto& [pid, programs] : dictionaries.programs_)
    std::ranges::stable_sort(programs, {}, &NamedProgram::since_ns);
  return dictionaries;
}

std::string_view TraceDictionaries::file(std::uint64_t id, std::uint64_t ts_ns) const {
  const auto found = files_.find(id);
  if (found == files_.end())
    return {};
  const auto later = std::ranges::upper_bound(found->second, ts_ns, {}, &NamedFile::since_ns);
  return later == found->second.begin() ? std::string_view{} : std::prev(later)->path;
}

std::string_view TraceDictionaries::text(std::uint64_t id) const {
  return find(texts_, id);
}

std::string_view TraceDictionaries::device(std::uint64_t number) const {
  return find(devices_, number);
}

std::string_view TraceDictionaries::comm(std::uint64_t pid, std::uint64_t ts_ns) const {
  const auto found = programs_.find(pid);
  if (found == programs_.end())
    return {};
  const std::vector<NamedProgram>& programs = found->second;
  const auto later = std::ranges::upper_bound(programs, ts_ns, {}, &NamedProgram::since_ns);
  return later == programs.begin() ? programs.front().comm : std::prev(later)->comm;
}

std::uint64_t naming_time_ns(const store::EventStream& event) {
  const auto layer =
      std::ranges::find(schema::kLayers, event.table().layer, &schema::LayerInfo::name);
  const store::ColumnInfo* duration = event.table().column(schema::Role::duration);
  if (layer == std::end(schema::kLayers) || layer->place != schema::Place::later || !duration)
    return event.time_ns();
  const std::uint64_t duration_ns = event.number(event.table().index(schema::Role::duration));
  return capped_sum(event.time_ns(), duration_ns);
}

} // namespace iotrail::analysis

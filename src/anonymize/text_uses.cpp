// SPDX-License-Identifier: BSD-3-Clause
#include "anonymize/text_uses.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace iotrail::anonymize {
namespace {

struct TermColumn {
  std::string_view table;
  std::string_view column;
};

// The kernel, iotrail or a standard chooses these texts, and no user.
constexpr auto kTermColumns = std::to_array<TermColumn>({{"fs_rpc", "program"},
                                                         {"fs_rpc", "procedure"},
                                                         {"syscall_mount", "type"},
                                                         {"snapshot_system", "cpu_model"},
                                                         {"snapshot_system", "machine"},
                                                         {"snapshot_system", "os"},
                                                         {"snapshot_disk", "name"},
                                                         {"snapshot_disk", "below"},
                                                         {"snapshot_disk", "scheduler"},
                                                         {"snapshot_disk", "write_cache"},
                                                         {"snapshot_disk", "zones"},
                                                         {"snapshot_mount", "type"},
                                                         {"snapshot_network", "state"},
                                                         {"snapshot_network", "driver"},
                                                         {"snapshot_setting", "name"},
                                                         {"snapshot_setting", "setting"}});

bool is_term(const store::TableInfo& table, const store::ColumnInfo& column) {
  return column.meaning == schema::Meaning::stack ||
         std::ranges::any_of(kTermColumns, [&](const TermColumn& term) {
           return term.table == table.name && term.column == column.name;
         });
}

bool refers_to_text(const store::ColumnInfo& column) {
  return column.meaning == schema::Meaning::path || column.meaning == schema::Meaning::string ||
         column.meaning == schema::Meaning::stack;
}

// Calls `each` for each key in columns that refer to texts, either of terms or of names.
template <class Each>
void for_each_key(const store::TraceReader& trace, bool of_terms, const Each& each) {
  for (const store::BlockInfo& block : trace.blocks()) {
    const store::TableInfo* table = trace.table(block.kind);
    if (table == nullptr || table->is_dictionary())
      continue;
    std::vector<int> columns;
    for (std::size_t i = 0; i < table->columns.size(); ++i)
      if (refers_to_text(table->columns[i]) && is_term(*table, table->columns[i]) == of_terms)
        columns.push_back(static_cast<int>(i));
    if (columns.empty())
      continue;
    const auto read = trace.read(block, columns);
    for (std::size_t i = 0; read && i < columns.size(); ++i)
      if (const auto* keys =
              std::get_if<store::Numbers>(&(*read)[static_cast<std::size_t>(columns[i])]))
        std::ranges::for_each(*keys, each);
  }
}

} // namespace

std::unordered_set<std::uint64_t> terms_of(const store::TraceReader& trace) {
  std::unordered_set<std::uint64_t> terms;
  for_each_key(trace, true, [&](std::uint64_t key) { terms.insert(key); });
  if (!terms.empty())
    for_each_key(trace, false, [&](std::uint64_t key) { terms.erase(key); });
  return terms;
}

} // namespace iotrail::anonymize

// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/tables/row_counts.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/capped_sum.hpp"
#include "schema.hpp"
#include "trail/state/fact.hpp"
#include "value_text.hpp"
#include "wait_text.hpp"

namespace iotrail::analysis {

namespace {

constexpr std::string_view kCalls = "calls";
constexpr std::string_view kOr = " or ";
constexpr std::string_view kBytes = ".bytes";
constexpr std::string_view kWaits = "waits.";
constexpr std::size_t kValuesMost = 4096;      // different ones of a column, that are kept
constexpr std::size_t kStacksMost = 1U << 20U; // beyond them, each text counts as one

bool is_call_layer(std::string_view name) {
  return std::ranges::any_of(schema::kLayers, [&](const schema::LayerInfo& layer) {
    return layer.name == name && (layer.call_rank > 0 || layer.place == schema::Place::later);
  });
}

// Calls `row(columns, row)` for each readable row of the table.
template <class Row>
void for_each(const store::TraceReader& trace, const store::TableInfo& table,
              const std::vector<int>& columns, Row row) {
  for (const store::BlockInfo& block : trace.blocks()) {
    if (block.kind != table.kind)
      continue;
    const auto values = trace.read(block, columns);
    for (std::size_t i = 0; values && i < block.rows; ++i)
      row(*values, i);
  }
}

// At least the bytes of `events`, where a call that looks at bytes without taking them has none.
std::uint64_t bytes_in(const store::TraceReader& trace, const store::TableInfo& table) {
  const int place = table.index(schema::Role::bytes);
  if (place < 0 || !trace.has_rows(table.kind))
    return 0;
  const auto column = static_cast<std::size_t>(place);
  const schema::Meaning meaning = table.columns[column].meaning;
  const std::uint64_t unit_bytes = meaning == schema::Meaning::pages ? trail::kPageBytes : 1;
  const bool is_signed = meaning == schema::Meaning::pages || schema::is_result(meaning);
  std::uint64_t bytes = 0;
  for_each(trace, table, {place}, [&](const std::vector<store::Column>& columns, std::size_t row) {
    const auto* numbers = std::get_if<store::Numbers>(&columns[column]);
    const std::uint64_t number = numbers == nullptr ? UINT64_MAX / unit_bytes : (*numbers)[row];
    const bool is_negative = is_signed && static_cast<std::int64_t>(number) < 0;
    const std::uint64_t units = is_negative ? 0 : std::min(number, UINT64_MAX / unit_bytes);
    bytes = capped_sum(bytes, units * unit_bytes);
  });
  return bytes;
}

// Rows with an error, or with the choice of their flags. All, if the table has no such column.
std::uint64_t rows_in(const store::TraceReader& trace, const store::TableInfo& table,
                      std::string_view what) {
  const bool is_error = what == "errors";
  const int place = table.index(is_error ? schema::Role::result : schema::Role::operation);
  const auto column = static_cast<std::size_t>(place);
  std::uint64_t rows = 0;
  std::unordered_map<std::uint64_t, bool> matches; // few different values
  const auto is_match = [&](std::uint64_t number) {
    if (is_error)
      return static_cast<std::int64_t>(number) < 0;
    const std::string_view values = schema::value_table(table.columns[column].meaning);
    return schema::choice_text(values, number) == what;
  };
  for_each(trace, table, place < 0 ? std::vector<int>{} : std::vector<int>{place},
           [&](const std::vector<store::Column>& columns, std::size_t row) {
             const auto* numbers =
                 place < 0 ? nullptr : std::get_if<store::Numbers>(&columns[column]);
             if (numbers == nullptr) {
               ++rows;
               return;
             }
             if (matches.size() > kValuesMost)
               matches.clear();
             const auto [found, is_new] = matches.try_emplace((*numbers)[row]);
             if (is_new)
               found->second = is_match(found->first);
             rows += found->second ? 1 : 0;
           });
  return rows;
}

} // namespace

RowCounts::RowCounts(const store::TraceReader& trace) : trace_(trace) {
  for (const store::BlockInfo& block : trace.blocks())
    if (const store::TableInfo* table = trace.table(block.kind)) {
      rows_[table->name] += block.rows;
      if (!table->is_dictionary())
        rows_[table->layer] += block.rows;
    }
}

std::uint64_t RowCounts::operator()(std::string_view name) const {
  if (const auto place = name.find(kOr); place != name.npos)
    return capped_sum((*this)(name.substr(0, place)), (*this)(name.substr(place + kOr.size())));
  if (name.starts_with(kWaits))
    return may_wait_for(name.substr(kWaits.size())) ? rows_of("sched_wait") : 0;
  if (name.ends_with(kBytes))
    return bytes_of(name.substr(0, name.size() - kBytes.size()));
  if (const auto dot = name.find('.'); dot != name.npos) {
    const store::TableInfo* table = trace_.table(name.substr(0, dot));
    return table == nullptr ? 0 : rows_in(trace_, *table, name.substr(dot + 1));
  }
  return rows_of(name);
}

std::uint64_t RowCounts::rows_of(std::string_view name) const {
  if (name == kCalls) {
    std::uint64_t rows = rows_of(schema::layer_name(IOT_LAYER_async));
    for (const std::string_view layer : kCallLayers)
      rows += rows_of(layer);
    return rows;
  }
  const auto found = rows_.find(name);
  return found == rows_.end() ? 0 : found->second;
}

std::uint64_t RowCounts::bytes_of(std::string_view name) const {
  const auto [found, is_new] = bytes_.try_emplace(std::string(name), 0);
  if (!is_new)
    return found->second;
  for (const store::TableInfo& table : trace_.tables())
    if (!table.is_dictionary() &&
        (table.name == name || (name == kCalls && is_call_layer(table.layer))))
      found->second = capped_sum(found->second, bytes_in(trace_, table));
  return found->second;
}

bool RowCounts::may_wait_for(std::string_view reason) const {
  if (!reasons_)
    reasons_ = find_reasons();
  return reasons_->contains(reason);
}

// Of all texts with the key of a stack, as in the view all_waits.
std::set<std::string_view> RowCounts::find_reasons() const {
  std::set<std::string_view> reasons = {schema::wait_reason("")};
  const store::TableInfo* waits = trace_.table("sched_wait");
  const store::TableInfo* strings = trace_.table("strings");
  if (waits == nullptr || strings == nullptr)
    return reasons;
  const int stack = waits->column("stack");
  const int key = strings->column("string");
  const int text = strings->column("text");
  if (stack < 0 || key < 0 || text < 0)
    return reasons;
  std::unordered_set<std::uint64_t> stacks;
  for_each(trace_, *waits, {stack},
           [&](const std::vector<store::Column>& columns, std::size_t row) {
             if (const auto* numbers =
                     std::get_if<store::Numbers>(&columns[static_cast<std::size_t>(stack)]);
                 numbers != nullptr && stacks.size() < kStacksMost)
               stacks.insert((*numbers)[row]);
           });
  for_each(trace_, *strings, {key, text},
           [&](const std::vector<store::Column>& columns, std::size_t row) {
             const auto* keys =
                 std::get_if<store::Numbers>(&columns[static_cast<std::size_t>(key)]);
             const auto* texts =
                 std::get_if<store::Texts>(&columns[static_cast<std::size_t>(text)]);
             if (keys != nullptr && texts != nullptr &&
                 (stacks.size() >= kStacksMost || stacks.contains((*keys)[row])))
               reasons.insert(schema::wait_reason((*texts)[row]));
           });
  return reasons;
}

} // namespace iotrail::analysis

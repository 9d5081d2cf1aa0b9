// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/event_stream.hpp"

#include <algorithm>

#include "schema.hpp"

namespace iotrail::analysis {

namespace {

bool is_wanted(const store::TraceReader& trace, const store::BlockInfo& block,
               const std::vector<iot_u16>& kinds) {
  if (!kinds.empty())
    return std::ranges::find(kinds, block.kind) != kinds.end();
  const store::TableInfo* table = trace.table(block.kind);
  return table && !table->is_dictionary();
}

int time_column_of(const store::TableInfo& table) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].meaning == schema::Meaning::time_ns)
      return static_cast<int>(i);
  return -1;
}

} // namespace

std::uint64_t EventStream::OpenBlock::time_ns() const {
  if (time_column < 0)
    return 0;
  const auto* times = std::get_if<store::Numbers>(&columns[static_cast<std::size_t>(time_column)]);
  return times ? (*times)[row] : 0;
}

EventStream::EventStream(const store::TraceReader& trace, const std::vector<iot_u16>& kinds)
    : trace_(trace) {
  for (const store::BlockInfo& block : trace.blocks())
    if (is_wanted(trace, block, kinds))
      blocks_.push_back(&block);
  std::ranges::stable_sort(blocks_, {}, &store::BlockInfo::first_ns);
}

void EventStream::open_block(const store::BlockInfo& block) {
  const store::TableInfo* table = trace_.table(block.kind);
  if (!table || block.rows == 0)
    return;
  auto columns = trace_.read(block);
  if (!columns)
    return;
  auto opened = std::make_unique<OpenBlock>(
      OpenBlock{table, std::move(*columns), time_column_of(*table), block.rows, 0, next_block_});
  heap_.push(opened.get());
  open_.push_back(std::move(opened));
  blocks_open_max_ = std::max(blocks_open_max_, open_.size());
}

// Opens every block that can hold the next event.
void EventStream::open_blocks() {
  while (next_block_ < blocks_.size() &&
         (heap_.empty() || blocks_[next_block_]->first_ns <= heap_.top()->time_ns())) {
    open_block(*blocks_[next_block_]);
    ++next_block_;
  }
}

bool EventStream::next() {
  if (current_) {
    if (++current_->row < current_->rows)
      heap_.push(current_);
    else
      std::erase_if(open_, [&](const auto& block) { return block.get() == current_; });
    current_ = nullptr;
  }
  open_blocks();
  if (heap_.empty())
    return false;
  current_ = heap_.top();
  heap_.pop();
  return true;
}

std::uint64_t EventStream::number(std::size_t column) const {
  const auto* numbers = std::get_if<store::Numbers>(&current().columns[column]);
  return numbers ? (*numbers)[current().row] : 0;
}

std::string_view EventStream::text(std::size_t column) const {
  const auto* texts = std::get_if<store::Texts>(&current().columns[column]);
  return texts ? std::string_view((*texts)[current().row]) : std::string_view{};
}

} // namespace iotrail::analysis

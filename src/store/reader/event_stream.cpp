// SPDX-License-Identifier: BSD-3-Clause
#include "store/reader/event_stream.hpp"

#include <algorithm>

#include "schema.hpp"

namespace iotrail::store {

namespace {

bool is_event(const TraceReader& trace, const BlockInfo& block) {
  const TableInfo* table = trace.table(block.kind);
  return table && !table->is_dictionary();
}

int time_column_of(const TableInfo& table) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].meaning == schema::Meaning::time_ns)
      return static_cast<int>(i);
  return -1;
}

} // namespace

std::uint64_t EventStream::OpenBlock::time_ns() const {
  if (time_column < 0)
    return 0;
  const auto* times = std::get_if<Numbers>(&columns[static_cast<std::size_t>(time_column)]);
  return times ? (*times)[row] : 0;
}

template <typename IsWanted> void EventStream::take_blocks(const IsWanted& is_wanted) {
  for (const BlockInfo& block : trace_.blocks())
    if (is_wanted(block))
      blocks_.push_back(&block);
  std::ranges::stable_sort(blocks_, {}, &BlockInfo::first_ns);
}

EventStream::EventStream(const TraceReader& trace, const std::vector<iot_u16>& kinds)
    : trace_(trace) {
  take_blocks([&](const BlockInfo& block) {
    return kinds.empty() ? is_event(trace, block)
                         : std::ranges::find(kinds, block.kind) != kinds.end();
  });
}

EventStream::EventStream(const TraceReader& trace, Columns columns)
    : trace_(trace), wanted_(std::move(columns)) {
  take_blocks([&](const BlockInfo& block) { return wanted_.contains(block.kind); });
}

Result<std::vector<Column>> EventStream::read(const BlockInfo& block, int time_column) const {
  const auto wanted = wanted_.find(block.kind);
  if (wanted == wanted_.end())
    return trace_.read(block);
  std::vector<int> positions = wanted->second;
  if (time_column >= 0)
    positions.push_back(time_column);
  return trace_.read(block, positions);
}

void EventStream::open_block(const BlockInfo& block) {
  const TableInfo* table = trace_.table(block.kind);
  if (!table || block.rows == 0)
    return;
  if (values_open_ > kMostValues)
    return trace_.add_limit("NOT ALL EVENTS: more of them are at one time than fit into memory.");
  const int time_column = time_column_of(*table);
  auto columns = read(block, time_column);
  if (!columns)
    return;
  auto opened = std::make_unique<OpenBlock>(
      OpenBlock{table, std::move(*columns), time_column, block.rows, 0, next_block_, open_.size()});
  values_open_ += opened->values();
  heap_.push(opened.get());
  open_.push_back(std::move(opened));
  blocks_open_max_ = std::max(blocks_open_max_, open_.size());
}

// Opens every block that may hold the next event.
void EventStream::open_blocks() {
  while (next_block_ < blocks_.size() &&
         (heap_.empty() || blocks_[next_block_]->first_ns <= heap_.top()->time_ns())) {
    open_block(*blocks_[next_block_]);
    ++next_block_;
  }
}

// The last open block takes its place.
void EventStream::close_current() {
  values_open_ -= current_->values();
  std::unique_ptr<OpenBlock>& place = open_[current_->place];
  open_.back()->place = current_->place;
  std::swap(place, open_.back());
  open_.pop_back();
}

bool EventStream::next() {
  if (current_) {
    if (++current_->row < current_->rows)
      heap_.push(current_);
    else
      close_current();
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
  const auto* numbers = std::get_if<Numbers>(&current().columns[column]);
  return numbers ? (*numbers)[current().row] : 0;
}

std::string_view EventStream::text(std::size_t column) const {
  const auto* texts = std::get_if<Texts>(&current().columns[column]);
  return texts ? std::string_view((*texts)[current().row]) : std::string_view{};
}

} // namespace iotrail::store

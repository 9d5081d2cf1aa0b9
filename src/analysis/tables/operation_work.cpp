// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/tables/operation_work.hpp"

#include <algorithm>
#include <utility>

#include "base/capped_sum.hpp"
#include "schema.hpp"
#include "store/reader/event_stream.hpp"

namespace iotrail::analysis {

namespace {

template <class Row> std::span<const Row> rows_of(const std::vector<Row>& rows, std::uint64_t op) {
  const auto found = std::ranges::equal_range(rows, op, {}, &Row::op_id);
  return {found.begin(), found.end()};
}

bool is_read(const trail::Link& link) {
  return link.operation == IOT_block_read;
}

bool is_write(const trail::Link& link) {
  return link.operation == IOT_block_write;
}

// The columns of a table, by role or name; none if it lacks one.
std::vector<int> columns_of(const store::TableInfo* table,
                            const std::vector<store::ColumnKey>& keys) {
  std::vector<int> columns;
  for (const store::ColumnKey& key : keys)
    if (const int column = table == nullptr ? -1 : table->index(key); column >= 0)
      columns.push_back(column);
  return columns.size() == keys.size() ? columns : std::vector<int>();
}

} // namespace

OperationWork::OperationWork(const store::TraceReader& trace, std::span<const trail::Link> links)
    : links_(links) {
  for (std::size_t at = 0; at < links_.size(); ++at)
    add_link(at);
  add_blocks(trace);
  std::ranges::sort(requests_, {}, &Request::op_id);
  std::ranges::sort(held_back_, {}, &HeldBack::op_id);
}

void OperationWork::add_link(std::size_t at) {
  const trail::Link& link = links_[at];
  if (is_read(link) && link.by_op == 0 && link.op_id != 0)
    held_back_.push_back({link.op_id, link.queued_ns});
  if (link.completed_ns == 0)
    return;
  if (link.by_op != 0)
    requests_.push_back({link.by_op, at});
  // Read for it but submitted by another: a kernel thread, or the call that submitted it.
  if (is_read(link) && link.op_id != 0 && link.op_id != link.by_op)
    requests_.push_back({link.op_id, at});
}

void OperationWork::add_blocks(const store::TraceReader& trace) {
  using enum schema::Role;
  const store::TableInfo* queues = trace.table("block_queue");
  const store::TableInfo* completions = trace.table("block_complete");
  const auto queue = columns_of(queues, {op, "by_kernel_thread"});
  const auto completion = columns_of(completions, {op, bytes, duration});
  store::EventStream::Columns wanted;
  if (!queue.empty())
    wanted[queues->kind] = queue;
  if (!completion.empty())
    wanted[completions->kind] = completion;
  if (wanted.empty())
    return;
  for (store::EventStream events(trace, wanted); events.next();) {
    const bool is_queue = queues != nullptr && events.table().kind == queues->kind;
    const std::vector<int>& columns = is_queue ? queue : completion;
    const auto value = [&](std::size_t i) {
      return events.number(static_cast<std::size_t>(columns[i]));
    };
    const std::uint64_t op_id = value(0);
    const bool is_set = value(1) != 0;
    if (op_id != 0 && is_queue && is_set)
      held_back_.push_back({op_id, events.time_ns()});
    if (op_id == 0 || is_queue || is_set)
      continue;
    requests_.push_back({op_id, links_.size() + without_link_.size()});
    without_link_.push_back(
        {events.time_ns(), 0, events.time_ns(), capped_sum(events.time_ns(), value(2))});
  }
}

DeviceWork OperationWork::work_of(std::size_t at) const {
  if (at >= links_.size())
    return without_link_[at - links_.size()];
  const trail::Link& link = links_[at];
  return {link.queued_ns, link.inserted_ns, link.issued_ns, link.completed_ns};
}

void OperationWork::find_written() {
  for (std::size_t at = 0; at < links_.size(); ++at) {
    const trail::Link& link = links_[at];
    if (link.completed_ns == 0 || link.stored_ns == 0 || link.file == 0 || !is_write(link))
      continue;
    written_[link.file].push_back({at, 0});
    all_written_.push_back({at, 0});
  }
  for (auto& [file, all] : written_)
    sort(all);
  sort(all_written_);
}

void OperationWork::sort(std::vector<WriteBack>& all) const {
  std::ranges::sort(all, {}, [&](const WriteBack& each) { return links_[each.at].queued_ns; });
  std::uint64_t reached_ns = 0;
  for (WriteBack& each : all) {
    reached_ns = std::max(reached_ns, links_[each.at].completed_ns);
    each.reached_ns = reached_ns;
  }
}

const std::vector<OperationWork::WriteBack>&
OperationWork::written(std::optional<std::uint32_t> file) {
  static const std::vector<WriteBack> none;
  if (!std::exchange(knows_written_, true))
    find_written();
  if (!file)
    return all_written_;
  const auto found = written_.find(*file);
  return found == written_.end() ? none : found->second;
}

std::size_t OperationWork::first_from(const std::vector<WriteBack>& all, std::uint64_t ns) const {
  const auto found = std::ranges::lower_bound(
      all, ns, {}, [&](const WriteBack& each) { return links_[each.at].queued_ns; });
  return static_cast<std::size_t>(found - all.begin());
}

std::span<const OperationWork::Request> OperationWork::requests_with(std::uint64_t op_id) const {
  return rows_of(requests_, op_id);
}

std::span<const OperationWork::HeldBack> OperationWork::held_back_with(std::uint64_t op_id) const {
  return rows_of(held_back_, op_id);
}

} // namespace iotrail::analysis

// SPDX-License-Identifier: BSD-3-Clause
#include "store/writer/block_writer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.hpp"
#include "dictionary_rows.hpp"
#include "schema.hpp"

namespace iotrail::store {

// Reused buffers: returning memory and allocating it again costs a page fault each 4 KiB. A program
// usually makes events of a few kinds at a time.
constexpr std::size_t kRecycled = 6;

constexpr std::chrono::milliseconds kShortWait{100};

BlockWriter::BlockWriter(const Fd& directory, std::filesystem::path trace, const TraceId& trace_id,
                         const WriterOptions& options)
    : directory_(directory), trace_(std::move(trace)), trace_id_(trace_id), options_(options),
      encoder_(trace_id, options.compression_level) {}

BlockWriter::~BlockWriter() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  work_.notify_one();
  if (thread_.joinable())
    thread_.join();
}

Result<void> BlockWriter::start() {
  auto dictionary = create_segment(SegmentKind::dictionary, 0);
  if (!dictionary)
    return std::unexpected(dictionary.error());
  auto events = create_segment(SegmentKind::events, events_number_);
  if (!events)
    return std::unexpected(events.error());
  stats_.bytes = dictionary->bytes() + events->bytes();
  dictionary_ = std::move(*dictionary);
  events_ = std::move(*events);
  thread_ = std::thread([this] { run(); });
  return {};
}

void BlockWriter::push(Batch batch) {
  std::unique_lock lock(mutex_);
  if (!is_stalled_ &&
      !room_.wait_for(lock, kShortWait, [&] { return queue_.size() < options_.queued_blocks; }))
    is_stalled_ = true;
  queue_.push_back(std::move(batch));
  lock.unlock();
  work_.notify_one();
}

bool BlockWriter::is_stalled() const {
  const std::lock_guard lock(mutex_);
  return is_stalled_;
}

void BlockWriter::wait_while_stalled() const {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] { return !is_stalled_; });
}

bool BlockWriter::wait_shortly() {
  std::unique_lock lock(mutex_);
  return room_.wait_for(lock, kShortWait, [&] { return is_idle(); });
}

Result<void> BlockWriter::drain() {
  {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return is_idle(); });
  }
  if (const Error* failed = failure())
    return std::unexpected(*failed);
  // The thread stays idle until the next push(), which only the caller of drain() can make.
  auto synced = sync();
  if (!synced)
    record_failure(synced.error());
  return synced;
}

Records BlockWriter::recycled(std::size_t least_bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      recycled_, [&](const Records& records) { return records.capacity() >= least_bytes; });
  if (found == recycled_.end())
    return {};
  Records records = std::move(*found);
  recycled_.erase(found);
  records.resize(0);
  return records;
}

WriterStats BlockWriter::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

const Error* BlockWriter::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_ ? &*failure_ : nullptr;
}

void BlockWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return !queue_.empty() || is_ending_; });
    if (queue_.empty())
      return;
    Batch batch = std::move(queue_.front());
    queue_.pop_front();
    is_busy_ = true;
    if (queue_.size() < options_.queued_blocks)
      is_stalled_ = false;
    lock.unlock();
    room_.notify_one();
    write(batch);
    lock.lock();
    is_busy_ = false;
    if (auto* events = std::get_if<EventBatch>(&batch); events && recycled_.size() < kRecycled)
      recycled_.push_back(std::move(events->records));
    if (queue_.empty())
      room_.notify_one();
  }
}

void BlockWriter::write(const Batch& batch) {
  if (failure()) // write nothing after a gap: later rows may refer to missing ones
    return count(batch, false);
  const auto* events = std::get_if<EventBatch>(&batch);
  const auto written =
      events ? write_events(*events) : write_block(*dictionary_, std::get<BlockRows>(batch));
  if (!written)
    record_failure(written.error());
  count(batch, written.has_value());
  if (written && events && options_.observer != nullptr)
    options_.observer->see_written(*events->event, events->records);
}

Result<void> BlockWriter::write_events(const EventBatch& batch) {
  if (events_->bytes() >= options_.segment_bytes)
    if (auto begun = begin_next_segment(); !begun)
      return begun;
  return write_block(*events_, transposer_.transpose(*batch.event, batch.records));
}

// The disk may take seconds for the segment that has ended, while events continue: another thread waits for it.
Result<void> BlockWriter::begin_next_segment() {
  auto next = create_segment(SegmentKind::events, events_number_ + 1);
  if (!next)
    return std::unexpected(next.error());
  if (auto synced = wait_for_ended_segment(); !synced)
    return synced;
  ended_segment_ = std::async(std::launch::async | std::launch::deferred,
                              [ended = std::move(*events_)]() mutable { return ended.sync(); });
  ++events_number_;
  events_ = std::move(*next);
  const std::lock_guard lock(mutex_);
  stats_.bytes += events_->bytes();
  return {};
}

Result<void> BlockWriter::wait_for_ended_segment() {
  return ended_segment_.valid() ? ended_segment_.get() : Result<void>();
}

Result<void> BlockWriter::write_block(SegmentFile& segment, const BlockRows& rows) {
  const ByteSpan block = encoder_.encode(rows, segment.blocks(), segment.rows());
  auto written = segment.append(block, static_cast<std::uint32_t>(rows.rows()));
  if (written) {
    const std::lock_guard lock(mutex_);
    stats_.bytes += block.size();
    stats_.row_bytes[rows.kind] += block.size();
    ++stats_.blocks;
  }
  return written;
}

void BlockWriter::count(const Batch& batch, bool is_written) {
  const auto* events = std::get_if<EventBatch>(&batch);
  if (!events)
    return count_sums(std::get<BlockRows>(batch), is_written);
  const std::size_t rows = events->records.size() / events->event->size_bytes;
  const std::lock_guard lock(mutex_);
  auto& counts = is_written ? stats_.rows : stats_.rows_failed;
  counts[events->event->id] += rows;
}

// Rows of other dictionaries count no events.
void BlockWriter::count_sums(const BlockRows& block, bool is_written) {
  if (block.kind != rows::kind_of<rows::event_sums>)
    return;
  const auto fields = schema::find_event(block.kind)->fields;
  const auto column = std::ranges::find(fields, "events", &schema::Field::name) - fields.begin();
  const std::lock_guard lock(mutex_);
  auto& sum = is_written ? stats_.summed_up : stats_.summed_up_failed;
  for (const std::uint64_t events :
       std::get<Numbers>(block.columns[static_cast<std::size_t>(column)]))
    sum += events;
}

void BlockWriter::record_failure(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (!failure_) {
    failure_ = error;
    stats_.failed_at_ns = monotonic_ns();
  }
}

Result<SegmentFile> BlockWriter::create_segment(SegmentKind kind, std::uint32_t number) const {
  return SegmentFile::create(directory_, trace_, kind, number, trace_id_);
}

Result<void> BlockWriter::sync() {
  if (auto synced = dictionary_->sync(); !synced)
    return synced;
  if (auto synced = events_->sync(); !synced)
    return synced;
  return wait_for_ended_segment();
}

} // namespace iotrail::store

// SPDX-License-Identifier: BSD-3-Clause
#include "capture/snapshot/rows/row_queue.hpp"

#include <cstring>
#include <utility>

namespace iotrail::capture::snapshot {

void RowBatch::write(store::TraceWriter& writer) {
  std::size_t text_at = 0;
  for (const Text& text : keys_) {
    const iot_u32 id = writer.string_id(std::string_view(texts_).substr(text_at, text.length));
    std::memcpy(&records_[text.record_at], &id, sizeof(id));
    text_at += text.length;
  }
  std::size_t at = 0;
  for (const std::uint32_t size : sizes_) {
    writer.append(reinterpret_cast<const iot_event&>(records_[at]));
    at += size;
  }
}

void RowQueue::push(RowBatch batch) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] { return is_closed_ || batches_.size() < kBatchesMost; });
  pushed_ += batch.rows();
  batches_.push_back(std::move(batch));
}

std::size_t RowQueue::write_some(store::TraceWriter& writer, std::size_t rows) {
  std::size_t written = 0;
  while (written < rows) {
    std::unique_lock lock(mutex_);
    if (batches_.empty())
      break;
    RowBatch batch = std::move(batches_.front());
    batches_.pop_front();
    lock.unlock();
    room_.notify_all();
    batch.write(writer);
    written += batch.rows();
  }
  return written;
}

void RowQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  room_.notify_all();
}

bool RowQueue::is_empty() const {
  const std::lock_guard lock(mutex_);
  return batches_.empty();
}

void RowSink::flush() {
  if (batch_.rows() > 0)
    queue_.push(std::exchange(batch_, {}));
}

} // namespace iotrail::capture::snapshot

// SPDX-License-Identifier: BSD-3-Clause
//
// The thread behind a TraceWriter. It takes batches of rows from a bounded queue, sorts, encodes
// and writes them, in order.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "schema.hpp"
#include "store/format/block.hpp"
#include "store/format/event_rows.hpp"
#include "store/format/segment_file.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::store {

// A buffer of records. Unlike a vector it does not initialize new bytes, since records overwrite
// them.
class Records {
public:
  std::byte* data() { return bytes_.get(); }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  operator ByteSpan() const { return {bytes_.get(), size_}; }

  // Keeps the old bytes, as far as they fit.
  void resize(std::size_t size) {
    if (size > capacity_) {
      auto larger = std::make_unique_for_overwrite<std::byte[]>(size);
      std::copy_n(bytes_.get(), size_, larger.get());
      bytes_ = std::move(larger);
      capacity_ = size;
    }
    size_ = size;
  }

private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

struct EventBatch {
  const schema::Event* event;
  Records records;
};
using Batch = std::variant<EventBatch, BlockRows>; // BlockRows: rows of a dictionary table

class BlockWriter {
public:
  // `directory` outlives the writer.
  BlockWriter(const Fd& directory, std::filesystem::path trace, const TraceId& trace_id,
              const WriterOptions& options);
  // Writes all queued batches.
  ~BlockWriter();
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;

  // Makes the first segments, then starts the thread.
  Result<void> start();

  // Waits while the queue is full, for a short time. If the disk takes nothing meanwhile, the queue grows, and no push
  // waits any more until it has room again.
  void push(Batch batch);
  bool is_stalled() const;
  void wait_while_stalled() const;
  // Waits until all that was pushed is written, for a short time; false: it is not.
  bool wait_shortly();
  // Waits until all that was pushed is on the disk.
  Result<void> drain();

  // Buffer of a written batch, for reuse: with at least this capacity, or none.
  Records recycled(std::size_t least_bytes);

  WriterStats stats() const;
  const Error* failure() const; // stays set once set

private:
  void run();
  void write(const Batch& batch);
  Result<void> write_events(const EventBatch& batch);
  Result<void> begin_next_segment();
  Result<void> write_block(SegmentFile& segment, const BlockRows& rows);
  void record_failure(const Error& error);
  void count(const Batch& batch, bool is_written);
  void count_sums(const BlockRows& block, bool is_written);
  Result<SegmentFile> create_segment(SegmentKind kind, std::uint32_t number) const;
  Result<void> sync();
  Result<void> wait_for_ended_segment();
  bool is_idle() const { return queue_.empty() && !is_busy_; }

  const Fd& directory_;
  const std::filesystem::path trace_;
  const TraceId trace_id_;
  const WriterOptions options_;

  // Used only by the thread.
  BlockEncoder encoder_;
  EventTransposer transposer_;
  std::optional<SegmentFile> dictionary_;
  std::optional<SegmentFile> events_;
  std::uint32_t events_number_ = 1;
  std::future<Result<void>> ended_segment_; // the one before is brought to the disk

  mutable std::mutex mutex_; // guards the following members
  std::condition_variable work_;
  mutable std::condition_variable room_; // in the queue; also: idle
  std::deque<Batch> queue_;
  std::vector<Records> recycled_;
  WriterStats stats_;
  std::optional<Error> failure_;
  bool is_busy_ = false;
  bool is_ending_ = false;
  bool is_stalled_ = false;
  std::thread thread_;
};

} // namespace iotrail::store

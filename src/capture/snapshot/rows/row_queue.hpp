// SPDX-License-Identifier: BSD-3-Clause
//
// Rows of snapshots on their way from the snapshot threads to the recorder's thread, the only one
// that may write. Bounded: a snapshot thread waits while the queue is full, so that nothing is
// lost.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "schema.hpp"
#include "store/format/layout.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::capture::snapshot {

template <class Record> inline constexpr iot_kind kind_of{};
// clang-format off
#define EVENT(id, name, layer, doc) template <> inline constexpr iot_kind kind_of<iot_##name> = IOT_KIND_##name;
#define FIELD(type, name, meaning, doc, ...)
#define END(name)
#include "snapshot.def"
#undef EVENT
#undef FIELD
#undef END
// clang-format on

// A field with a key of the table strings, and the text for that key.
template <class Record> struct TextField {
  iot_u32 Record::* field;
  std::string_view text;
};

class RowBatch {
public:
  // `pid` and `tid` of the header are set by the caller.
  template <class Record>
  void add(const Record& record, std::initializer_list<TextField<Record>> texts) {
    Record row = record;
    row.event.kind = kind_of<Record>;
    row.event.cpu = IOT_CPU_UNKNOWN;
    const std::size_t at = records_.size();
    const auto* bytes = reinterpret_cast<const std::byte*>(&row);
    for (const TextField<Record>& text : texts)
      add_text(at + static_cast<std::size_t>(
                        reinterpret_cast<const std::byte*>(&(row.*text.field)) - bytes),
               text.text);
    records_.insert(records_.end(), bytes, bytes + sizeof(row));
    sizes_.push_back(sizeof(row));
  }

  std::size_t rows() const { return sizes_.size(); }
  std::size_t bytes() const { return records_.size() + texts_.size(); }

  // Assigns keys to the texts and appends the rows; call it once.
  void write(store::TraceWriter& writer);

private:
  struct Text {
    std::size_t record_at; // position of its key
    std::size_t length;    // in texts_, after the earlier ones
  };
  void add_text(std::size_t record_at, std::string_view text) {
    text = text.substr(0, store::kTextBytesMax);
    texts_ += text;
    keys_.push_back({record_at, text.size()});
  }

  std::vector<std::byte> records_;
  std::vector<std::uint32_t> sizes_;
  std::string texts_;
  std::vector<Text> keys_;
};

class RowQueue {
public:
  // Waits for space, unless the queue is closed.
  void push(RowBatch batch);
  // Moves at most this many rows, plus one batch, into the trace; returns the number.
  std::size_t write_some(store::TraceWriter& writer, std::size_t rows);
  // From now on no thread waits for space.
  void close();
  bool is_empty() const;
  std::uint64_t pushed() const { return pushed_; } // total number of rows

private:
  static constexpr std::size_t kBatchesMost = 64;

  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::deque<RowBatch> batches_;
  std::atomic<std::uint64_t> pushed_{0};
  bool is_closed_ = false;
};

// Collects the rows of one thread.
class RowSink {
public:
  explicit RowSink(RowQueue& queue) : queue_(queue) {}
  RowSink(const RowSink&) = delete;
  RowSink& operator=(const RowSink&) = delete;
  ~RowSink() { flush(); }

  template <class Record>
  void add(const Record& record, std::initializer_list<TextField<Record>> texts) {
    batch_.add(record, texts);
    if (batch_.rows() >= kRowsMost || batch_.bytes() >= kBytesMost)
      flush();
  }
  void flush();

private:
  static constexpr std::size_t kRowsMost = 1024;
  static constexpr std::size_t kBytesMost = 256U << 10U;

  RowQueue& queue_;
  RowBatch batch_;
};

} // namespace iotrail::capture::snapshot

// SPDX-License-Identifier: BSD-3-Clause
#include "store/writer/trace_writer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "store/format/trace_directory.hpp"
#include "store/writer/block_writer.hpp"
#include "store/writer/dictionary.hpp"

namespace iotrail::store {
namespace {

// A kind is <layer><number>, a byte each; there are fewer than 16 layers.
constexpr std::size_t kKinds = IOT_LAYER_COUNT << 8U;
// Estimates for kinds without a written row: compression of a row, and the overhead of a block.
constexpr std::size_t kRecordPartExpected = 8;
constexpr std::size_t kBlockBytesExpected = 2 * sizeof(BlockHeader);

// has_reached() accepts a size that is smaller by this part of the limit.
constexpr std::uint64_t kSizePartLeft = 16;

constexpr std::size_t kFirstRows = 64; // in a kind's first buffer; it then grows by 8

// Rows of one kind that wait for a full block. append_rows() reads only `free_bytes` on its fast
// path.
struct RowBuffer {
  const schema::Event* event = nullptr;
  std::size_t record_bytes = 0;
  std::byte* end = nullptr;
  std::size_t free_bytes = 0;
  Records records{}; // its size is the allocated room; the rows are at its beginning
  std::uint64_t waiting_since_ns = 0;
  std::size_t expected_bytes = 0; // size of the last batch of this kind
  std::uint64_t rows_handed_over = 0;

  std::size_t used() const { return records.size() - free_bytes; }
  std::uint64_t rows() const { return rows_handed_over + used() / record_bytes; }
};

} // namespace

struct TraceWriter::Impl {
  std::filesystem::path path;
  WriterOptions options;
  Fd directory; // holds the lock
  std::string trace_id;
  std::vector<RowBuffer> buffers;
  std::array<RowBuffer*, kKinds> buffer_of{};
  std::size_t buffered_bytes = 0; // allocated by all buffers
  std::uint64_t rows_unknown = 0;
  Dictionary dictionary;
  std::uint64_t dictionary_waiting_since_ns = 0;
  std::unique_ptr<BlockWriter> blocks;

  void make_buffers();
  [[gnu::noinline]] void make_room(RowBuffer& buffer); // not inlined, to keep append_rows() short
  void hand_over(RowBuffer& buffer);
  void hand_over_dictionary();
  void hand_over_all();
  RowBuffer& largest();
};

void TraceWriter::Impl::make_buffers() {
  buffers.reserve(std::size(schema::kEvents)); // append_rows() keeps pointers to the buffers
  for (const schema::Event& event : schema::kEvents)
    if (!event.is_dictionary()) {
      buffers.push_back({.event = &event, .record_bytes = event.size_bytes});
      buffer_of[event.id] = &buffers.back();
    }
}

RowBuffer& TraceWriter::Impl::largest() {
  return *std::ranges::max_element(buffers, {}, &RowBuffer::used);
}

// Makes room for at least one record. If the buffers together grew too large, the fullest one is
// handed over first.
void TraceWriter::Impl::make_room(RowBuffer& buffer) {
  const std::size_t record_bytes = buffer.record_bytes;
  const std::size_t full = options.block_rows * record_bytes;
  if (buffer.records.size() == full)
    hand_over(buffer);
  const auto is_room_for = [&](std::size_t size) {
    return buffered_bytes - buffer.records.size() + size <= options.buffered_bytes;
  };
  // Takes the size of the last batch at once, if that displaces no other kind.
  const auto wanted = [&] {
    const std::size_t size =
        std::clamp(8 * buffer.used(), std::min(kFirstRows * record_bytes, full), full);
    return is_room_for(buffer.expected_bytes) ? std::max(size, buffer.expected_bytes) : size;
  };
  while (!is_room_for(wanted())) {
    RowBuffer& victim = largest();
    if (victim.used() == 0)
      break;
    hand_over(victim);
  }
  const std::size_t used = buffer.used();
  const std::size_t size = wanted();
  buffered_bytes += size - buffer.records.size();
  if (size == full && buffer.records.capacity() < full) {
    if (Records recycled = blocks->recycled(full); recycled.capacity() >= full) {
      recycled.resize(used);
      std::copy_n(buffer.records.data(), used, recycled.data());
      buffer.records = std::move(recycled);
    }
  }
  buffer.records.resize(size);
  buffer.end = buffer.records.data() + used;
  buffer.free_bytes = size - used;
}

void TraceWriter::Impl::hand_over(RowBuffer& buffer) {
  const std::size_t used = buffer.used();
  if (used == 0)
    return;
  hand_over_dictionary(); // before the rows that may refer to it
  buffered_bytes -= buffer.records.size();
  buffer.records.resize(used);
  blocks->push(EventBatch{buffer.event, std::exchange(buffer.records, {})});
  buffer.end = nullptr;
  buffer.free_bytes = 0;
  buffer.waiting_since_ns = 0;
  buffer.expected_bytes = used;
  buffer.rows_handed_over += used / buffer.record_bytes;
}

void TraceWriter::Impl::hand_over_dictionary() {
  if (!dictionary.has_pending())
    return;
  for (BlockRows& rows : dictionary.take_pending())
    blocks->push(std::move(rows));
  dictionary_waiting_since_ns = 0;
}

void TraceWriter::Impl::hand_over_all() {
  hand_over_dictionary();
  for (RowBuffer& buffer : buffers)
    hand_over(buffer);
}

TraceWriter::TraceWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

// Without finish(), the trace is as if its recorder had died: all rows, no end.
TraceWriter::~TraceWriter() {
  impl_->hand_over_all();
  impl_->blocks.reset();
  drop_manifest_reserve(impl_->directory);
}

Result<std::unique_ptr<TraceWriter>> TraceWriter::create(const std::filesystem::path& trace,
                                                         const Manifest& manifest,
                                                         WriterOptions options) {
  IOTRAIL_CHECK(options.block_rows > 0 && options.queued_blocks > 0);
  auto directory = create_trace_directory(trace);
  if (!directory)
    return std::unexpected(directory.error());
  auto impl = std::make_unique<Impl>();
  impl->path = trace;
  impl->options = options;
  impl->options.block_rows = std::min<std::size_t>(options.block_rows, kBlockRowsMax);
  impl->directory = std::move(*directory);
  const TraceId id = trace_id_from_hex(manifest.trace_id).value_or(new_trace_id());
  impl->trace_id = to_hex(id);
  impl->make_buffers();
  impl->blocks = std::make_unique<BlockWriter>(impl->directory, trace, id, impl->options);
  auto started = impl->blocks->start();
  std::unique_ptr<TraceWriter> writer(new TraceWriter(std::move(impl)));
  if (started)
    started = writer->write_manifest(manifest);
  if (!started) { // a trace without a manifest would only block its name
    (void)remove_trace_directory(writer->impl_->directory, trace);
    return std::unexpected(started.error());
  }
  return writer;
}

std::span<std::byte> TraceWriter::append_rows(iot_u16 kind, std::size_t rows) {
  RowBuffer* buffer = kind < kKinds ? impl_->buffer_of[kind] : nullptr;
  if (!buffer) [[unlikely]] {
    impl_->rows_unknown += rows;
    return {};
  }
  if (buffer->free_bytes < buffer->record_bytes) [[unlikely]]
    impl_->make_room(*buffer);
  const std::size_t bytes = std::min(rows * buffer->record_bytes, buffer->free_bytes);
  buffer->free_bytes -= bytes;
  return {std::exchange(buffer->end, buffer->end + bytes), bytes};
}

void TraceWriter::append(const iot_event& record) {
  const std::span<std::byte> row = append_rows(record.kind, 1);
  if (!row.empty())
    std::memcpy(row.data(), &record, row.size());
}

iot_u32 TraceWriter::string_id(std::string_view text) {
  const iot_u32 id = impl_->dictionary.string_id(text);
  if (impl_->dictionary.is_full())
    impl_->hand_over_dictionary();
  return id;
}

iot_u32 TraceWriter::file_id(const FileKey& key, iot_u32 mode, std::string_view path,
                             const FileState& state) {
  const iot_u32 id = impl_->dictionary.file_id(key, mode, path, state);
  if (impl_->dictionary.is_full())
    impl_->hand_over_dictionary();
  return id;
}

void TraceWriter::add(const rows::processes& row) {
  impl_->dictionary.add(row);
  if (impl_->dictionary.is_full())
    impl_->hand_over_dictionary();
}
void TraceWriter::add(const rows::devices& row) {
  impl_->dictionary.add(row);
  if (impl_->dictionary.is_full())
    impl_->hand_over_dictionary();
}
void TraceWriter::add(const rows::losses& row) {
  impl_->dictionary.add(row);
  if (impl_->dictionary.is_full())
    impl_->hand_over_dictionary();
}
void TraceWriter::add(const rows::event_sums& row) {
  impl_->dictionary.add(row);
  if (impl_->dictionary.is_full())
    impl_->hand_over_dictionary();
}

bool TraceWriter::is_stalled() const {
  return impl_->blocks->is_stalled();
}

void TraceWriter::wait_while_stalled() const {
  impl_->blocks->wait_while_stalled();
}

void TraceWriter::tick(std::uint64_t now_ns) {
  // The first tick that sees a row starts its wait, so that append() does not read the clock.
  const auto is_due = [&](std::uint64_t& since_ns) {
    if (since_ns == 0)
      since_ns = now_ns;
    return now_ns - since_ns >= impl_->options.flush_interval_ns;
  };
  for (RowBuffer& buffer : impl_->buffers)
    if (buffer.used() > 0 && is_due(buffer.waiting_since_ns))
      impl_->hand_over(buffer);
  if (impl_->dictionary.has_pending() && is_due(impl_->dictionary_waiting_since_ns))
    impl_->hand_over_dictionary();
}

Result<void> TraceWriter::flush() {
  impl_->hand_over_all();
  return impl_->blocks->drain();
}

Result<void> TraceWriter::write_manifest(const Manifest& manifest) {
  Manifest with_id = manifest;
  with_id.trace_id = impl_->trace_id;
  return replace_manifest(impl_->directory, to_json(with_id), impl_->path / kManifestName);
}

// Adds the store's own losses to the counters.
static void count_losses(const WriterStats& stats, Manifest& manifest) {
  const auto count = [&](iot_counter counter, std::uint64_t rows) {
    if (rows > 0)
      manifest.counters[std::string(schema::find_counter(counter)->name)] = rows;
  };
  std::uint64_t failed = stats.summed_up_failed;
  for (const auto& [kind, rows] : stats.rows_failed)
    failed += rows;
  count(IOT_COUNTER_store_write_failed, failed);
  count(IOT_COUNTER_store_unknown_record, stats.rows_unknown);
}

Result<void> TraceWriter::finish(Manifest& manifest) {
  const auto flushed = flush();
  const WriterStats written = stats();
  manifest.trace_id = impl_->trace_id;
  manifest.events_bytes = written.bytes;
  manifest.counts.clear();
  for (const auto& [kind, rows] : written.rows)
    manifest.counts[std::string(schema::find_event(kind)->name)] = rows;
  count_losses(written, manifest);
  if (manifest.end_ns == 0)
    manifest.end_ns = monotonic_ns();
  if (manifest.state == State::INITIALIZING || manifest.state == State::RUNNING)
    manifest.state = flushed ? State::COMPLETE : State::ERROR;
  if (!flushed)
    manifest.stop_reason = flushed.error().line();
  auto closed = write_manifest(manifest);
  drop_manifest_reserve(impl_->directory);
  return closed ? flushed : closed;
}

WriterStats TraceWriter::stats() const {
  WriterStats stats = impl_->blocks->stats();
  stats.rows_unknown = impl_->rows_unknown;
  return stats;
}

static std::uint64_t count_of(const std::map<iot_u16, std::uint64_t>& counts, iot_u16 kind) {
  const auto found = counts.find(kind);
  return found == counts.end() ? 0 : found->second;
}

// An upper estimate: rows that are not written yet count with their expected size.
std::uint64_t TraceWriter::expected_bytes() const {
  const WriterStats written = impl_->blocks->stats();
  std::uint64_t bytes = written.bytes + impl_->dictionary.expected_bytes();
  for (const RowBuffer& buffer : impl_->buffers) {
    const iot_u16 kind = buffer.event->id;
    const std::uint64_t rows = count_of(written.rows, kind);
    const std::uint64_t waiting = buffer.rows() - rows - count_of(written.rows_failed, kind);
    if (waiting == 0)
      continue;
    bytes += kBlockBytesExpected;
    bytes += rows > 0 ? waiting * count_of(written.row_bytes, kind) / rows
                      : waiting * buffer.record_bytes / kRecordPartExpected;
  }
  return bytes;
}

bool TraceWriter::has_reached(std::uint64_t bytes) {
  if (expected_bytes() < bytes)
    return false;
  impl_->hand_over_all();
  if (!impl_->blocks->wait_shortly())
    return false;
  return stats().bytes + bytes / kSizePartLeft >= bytes;
}

Result<void> TraceWriter::check_place() const {
  return store::check_place(impl_->directory, impl_->path);
}

const Error* TraceWriter::failure() const {
  return impl_->blocks->failure();
}

const std::filesystem::path& TraceWriter::path() const {
  return impl_->path;
}

} // namespace iotrail::store

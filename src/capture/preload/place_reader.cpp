// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/place_reader.hpp"

#include <algorithm>
#include <cstring>

namespace iotrail::capture::preload {

namespace {

constexpr io_u64 kRecordsAtOnce = 8192; // of one place, before the others get their turn
constexpr io_u64 kGiveBackEvery = 256;  // records; each time costs the thread a look at the tail

} // namespace

PlaceReader::PlaceReader(ArenaFile& arena, io_u32 index)
    : place_(arena.places()[index]), owner_(arena.owners()[index]), records_(arena.records(index)),
      text_(arena.text(index)), index_(index) {}

io_u64 PlaceReader::end() const {
  const io_u64 head =
      closed_head_ ? *closed_head_ : __atomic_load_n(&place_.records.head, __ATOMIC_ACQUIRE);
  return std::clamp(head, tail_, tail_ + records_.size()); // others can write to it
}

io_u64 PlaceReader::text_head() const {
  const io_u64 head = __atomic_load_n(&place_.text_head, __ATOMIC_ACQUIRE);
  return std::clamp(head, text_tail_, text_tail_ + text_.size() / kCellBytes);
}

std::uint64_t PlaceReader::lost() const {
  return closed_head_ ? closed_lost_
                      : __atomic_load_n(&place_.records.lost[IO_LAYER_app - 1], __ATOMIC_RELAXED);
}

io_u64 PlaceReader::owner() const {
  return __atomic_load_n(&owner_, __ATOMIC_ACQUIRE);
}

bool PlaceReader::is_complete(io_u64 position) const {
  const RawRecord& record = records_[position & (records_.size() - 1)];
  return __atomic_load_n(&record.tag, __ATOMIC_ACQUIRE) == static_cast<io_u32>(position + 1);
}

void PlaceReader::look() {
  const io_u64 limit = std::min(end(), tail_ + kRecordsAtOnce);
  while (complete_ < limit && is_complete(complete_))
    ++complete_;
}

std::size_t PlaceReader::read_records(const TickClock& clock, Names& names,
                                      store::TraceWriter& writer) {
  const io_u64 begin = tail_;
  const io_u64 who = owner() & ~kOwnerReleased;
  Origin origin{index_, 0, static_cast<io_u32>(who >> 32U), static_cast<io_u32>(who)};
  while (tail_ != complete_) {
    const RawRecord record = records_[tail_ & (records_.size() - 1)];
    origin.position = tail_++;
    if (!convert(record, origin, clock, names, paths_, writer))
      ++torn_;
    if (tail_ % kGiveBackEvery == 0 || tail_ == complete_)
      __atomic_store_n(&place_.records.tail, tail_, __ATOMIC_RELEASE);
  }
  return tail_ - begin;
}

void PlaceReader::copy_text(io_u64 cell, void* to, std::size_t size, std::size_t skip) const {
  const std::size_t at = (cell * kCellBytes + skip) & (text_.size() - 1);
  const std::size_t first = std::min(size, text_.size() - at);
  std::memcpy(to, text_.data() + at, first);
  std::memcpy(static_cast<std::byte*>(to) + first, text_.data(), size - first);
}

void PlaceReader::clear_text(io_u64 cells) {
  const std::size_t at = (text_tail_ * kCellBytes) & (text_.size() - 1);
  const std::size_t size = cells * kCellBytes;
  const std::size_t first = std::min(size, text_.size() - at);
  std::memset(text_.data() + at, 0, first);
  std::memset(text_.data(), 0, size - first);
  text_tail_ += cells;
  __atomic_store_n(&place_.text_tail, text_tail_, __ATOMIC_RELEASE);
}

void PlaceReader::read_text(Names& names) {
  const io_u64 limit = text_head();
  std::string text;
  while (text_tail_ < limit) {
    const auto* const mark = reinterpret_cast<const io_u32*>(
        text_.data() + ((text_tail_ * kCellBytes) & (text_.size() - 1)));
    if (__atomic_load_n(mark, __ATOMIC_ACQUIRE) != 1)
      return;
    TextHeader header;
    copy_text(text_tail_, &header, sizeof(header), 0);
    const io_u64 cells = std::clamp<io_u64>(header.cells, 1, limit - text_tail_);
    text.resize(std::min<std::size_t>(header.bytes, cells * kCellBytes - sizeof(header)));
    copy_text(text_tail_, text.data(), text.size(), sizeof(header));
    names.accept(header, text, static_cast<io_u32>(text_tail_ + 1), paths_);
    clear_text(cells);
  }
}

void PlaceReader::skip_torn() {
  const io_u64 limit = end();
  while (complete_ == tail_ && tail_ < limit && !is_complete(tail_)) {
    ++torn_;
    complete_ = ++tail_;
  }
  __atomic_store_n(&place_.records.tail, tail_, __ATOMIC_RELEASE);
}

void PlaceReader::close() {
  closed_lost_ = lost();
  closed_head_ = end();
}

void PlaceReader::free_place() {
  clear_text(text_head() - text_tail_); // a message that its writer did not finish
  paths_ = {};
  __atomic_store_n(&place_.claim, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&place_.pid_namespace, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&owner_, 0, __ATOMIC_RELEASE);
}

} // namespace iotrail::capture::preload

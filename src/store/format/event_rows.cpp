// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/event_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

namespace iotrail::store {
namespace {

// Two words, compared at once: every 64-bit machine has a vector register for that.
using Lane [[gnu::vector_size(16)]] = std::uint64_t;
constexpr std::size_t kLaneRows = 256; // rows between checks whether the lane is settled

constexpr unsigned kRowBits = 14;
static_assert(kBlockRowsMax == 1U << kRowBits);
constexpr std::uint64_t kRowMask = kBlockRowsMax - 1;
constexpr std::uint64_t kSpanMax = ~std::uint64_t{0} >> kRowBits; // 13 days of nanoseconds

constexpr unsigned kDigitBits = 11;
constexpr std::size_t kDigits = 1U << kDigitBits;

// Spans arrive when they end; those of a few threads arrive nearly in order. Up to this many moves
// a row, insertion costs less than a radix sort.
constexpr std::size_t kMovesPerRowMax = 8;

std::uint64_t time_of(const std::byte* record) {
  std::uint64_t ts_ns = 0;
  std::memcpy(&ts_ns, record + offsetof(iot_event, ts_ns), sizeof ts_ns);
  return ts_ns;
}

// Sorts by the bits above kRowBits, least significant digit first. A comparison sort costs several
// times as much.
void radix_sort(std::vector<std::uint64_t>& keys, std::vector<std::uint64_t>& spare) {
  const auto [low, high] = std::ranges::minmax(keys);
  const auto key_bits = static_cast<unsigned>(std::bit_width(high - (low & ~kRowMask)));
  for (std::uint64_t& key : keys)
    key -= low & ~kRowMask;
  spare.resize(keys.size());
  for (unsigned shift = kRowBits; shift < key_bits; shift += kDigitBits) {
    std::array<std::uint32_t, kDigits> place{};
    for (const std::uint64_t key : keys)
      ++place[(key >> shift) & (kDigits - 1)];
    std::uint32_t sum = 0;
    for (std::uint32_t& entry : place)
      sum += std::exchange(entry, sum);
    for (const std::uint64_t key : keys)
      spare[place[(key >> shift) & (kDigits - 1)]++] = key;
    keys.swap(spare);
  }
}

// Inserts the last of `keys` among those before it, which are sorted. Returns how many keys moved.
std::size_t insert_last(std::span<std::uint64_t> keys) {
  const std::uint64_t key = keys.back();
  std::size_t at = keys.size() - 1;
  for (; at > 0 && keys[at - 1] > key; --at)
    keys[at] = keys[at - 1];
  keys[at] = key;
  return keys.size() - 1 - at;
}

template <class T> T load(const std::byte* field) {
  T value{};
  std::memcpy(&value, field, sizeof value);
  return value;
}

std::uint64_t widened(auto value) { // signed: two's complement
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

bool are_sorted(const std::byte* records, std::size_t record_bytes, std::size_t rows) {
  std::uint64_t previous_ns = 0;
#pragma GCC unroll 4
  for (std::size_t row = 0; row < rows; ++row, records += record_bytes) {
    const std::uint64_t ts_ns = time_of(records);
    if (ts_ns < previous_ns)
      return false;
    previous_ns = ts_ns;
  }
  return true;
}

// Compares the lane of `records` with the record `first`, and sets the bits in `differs` in which
// any of them differs.
void compare_lane(const std::byte* first, const std::byte* records, std::size_t record_bytes,
                  std::size_t rows, std::byte* differs) {
  constexpr std::size_t kRowsOfStep = 4; // a step of the pointer costs as much as a comparison
  const auto wanted = load<Lane>(first);
  auto all = load<Lane>(differs);
  for (; rows >= kRowsOfStep; rows -= kRowsOfStep, records += kRowsOfStep * record_bytes)
    for (std::size_t row = 0; row < kRowsOfStep; ++row)
      all |= load<Lane>(records + row * record_bytes) ^ wanted;
  for (; rows > 0; --rows, records += record_bytes)
    all |= load<Lane>(records) ^ wanted;
  std::memcpy(differs, &all, sizeof all);
}

template <class T, class Position>
void gather(const std::byte* field, Position position, Numbers& out) {
  const std::size_t rows = out.size();
  std::uint64_t* to = out.data();
  for (std::size_t i = 0; i < rows; ++i)
    to[i] = widened(load<T>(field + position(i)));
}

// `positions` is empty if the records are sorted already. `differs` has the bits in which any
// record's field differs from the first.
template <class T>
void make_column(const std::byte* field, std::size_t stride, std::size_t rows,
                 const std::byte* differs, std::span<const std::uint32_t> positions, Numbers& out) {
  if (load<T>(differs) == 0) {
    out.assign(1, widened(load<T>(field)));
    return;
  }
  out.resize(rows);
  if (positions.empty())
    gather<T>(field, [stride](std::size_t i) { return i * stride; }, out);
  else
    gather<T>(field, [at = positions.data()](std::size_t i) { return at[i]; }, out);
}

} // namespace

void EventTransposer::sort_by_time(ByteSpan records, std::size_t record_bytes) {
  const std::size_t count = records.size() / record_bytes;
  const std::uint64_t first_ns = time_of(records.data());
  const std::uint64_t low =
      std::min(first_ns - std::min(first_ns, kSpanMax / 2), ~std::uint64_t{0} - kSpanMax);
  keys_.resize(count);
  std::uint64_t spans = 0;
  std::uint64_t previous = 0;
  std::size_t moves = 0;
  bool is_nearly_sorted = true;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t span = time_of(records.data() + i * record_bytes) - low;
    spans |= span;
    keys_[i] = span << kRowBits | i;
    if (keys_[i] < previous && is_nearly_sorted) [[unlikely]] {
      moves += insert_last(std::span(keys_).first(i + 1));
      is_nearly_sorted = moves <= kMovesPerRowMax * (i + kMovesPerRowMax);
    }
    previous = keys_[i];
  }
  if (spans > kSpanMax)
    return sort_distant(records, record_bytes);
  if (!is_nearly_sorted)
    radix_sort(keys_, spare_);
  positions_.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    positions_[i] =
        static_cast<std::uint32_t>(keys_[i] & kRowMask) * static_cast<std::uint32_t>(record_bytes);
}

// For records too far apart for a time and a row number to share one word.
void EventTransposer::sort_distant(ByteSpan records, std::size_t record_bytes) {
  positions_.resize(records.size() / record_bytes);
  for (std::size_t i = 0; i < positions_.size(); ++i)
    positions_[i] = static_cast<std::uint32_t>(i * record_bytes);
  std::ranges::sort(positions_, {},
                    [&](std::uint32_t at) { return std::pair(time_of(&records[at]), at); });
}

// One pass for the columns of a lane. It ends when all of them are known to differ.
void EventTransposer::compare_records(const schema::Event& event, ByteSpan records) {
  const std::size_t record_bytes = event.size_bytes;
  const std::size_t rows = records.size() / record_bytes;
  differs_.assign(record_bytes, std::byte{0});
  for (std::size_t begin = 0; begin < record_bytes; begin += sizeof(Lane)) {
    // the last lane may overlap the one before
    const std::size_t lane = std::min(begin, record_bytes - sizeof(Lane));
    for (std::size_t row = 0; row < rows && has_constant(event, lane); row += kLaneRows)
      compare_lane(&records[lane], &records[lane + row * record_bytes], record_bytes,
                   std::min(rows - row, kLaneRows), &differs_[lane]);
  }
}

// Whether a column of the lane may still be constant.
bool EventTransposer::has_constant(const schema::Event& event, std::size_t lane) const {
  return std::ranges::any_of(event.fields, [&](const schema::Field& field) {
    const auto bits =
        std::span(differs_).subspan(field.offset, schema::info(field.type).size_bytes);
    return field.offset >= lane && field.offset < lane + sizeof(Lane) &&
           std::ranges::all_of(bits, [](std::byte byte) { return byte == std::byte{0}; });
  });
}

const BlockRows& EventTransposer::transpose(const schema::Event& event, ByteSpan records) {
  IOTRAIL_CHECK(!records.empty() && records.size() % event.size_bytes == 0 &&
                records.size() / event.size_bytes <= kBlockRowsMax);
  const std::size_t rows = records.size() / event.size_bytes;
  if (are_sorted(records.data(), event.size_bytes, rows))
    positions_.clear();
  else
    sort_by_time(records, event.size_bytes);
  compare_records(event, records);
  const std::size_t last = records.size() - event.size_bytes;
  rows_.kind = event.id;
  rows_.count = rows;
  rows_.first_ns = time_of(&records[positions_.empty() ? 0 : positions_.front()]);
  rows_.last_ns = time_of(&records[positions_.empty() ? last : positions_.back()]);
  rows_.columns.resize(event.fields.size());
  for (std::size_t i = 0; i < event.fields.size(); ++i) {
    if (!std::holds_alternative<Numbers>(rows_.columns[i]))
      rows_.columns[i] = Numbers();
    make_column(event.fields[i], event.size_bytes, records, std::get<Numbers>(rows_.columns[i]));
  }
  return rows_;
}

void EventTransposer::make_column(const schema::Field& field, std::size_t record_bytes,
                                  ByteSpan records, Numbers& out) const {
  const std::byte* first = records.data() + field.offset;
  const std::byte* differs = differs_.data() + field.offset;
  const std::size_t rows = records.size() / record_bytes;
  switch (field.type) {
#define TYPE(name, size, is_signed, sql_type)                                                      \
  case schema::Type::name:                                                                         \
    return store::make_column<iot_##name>(first, record_bytes, rows, differs, positions_, out);
#include "types.def"
#undef TYPE
  case schema::Type::text:
    IOTRAIL_CHECK(false); // records hold only numbers
  }
}

} // namespace iotrail::store

// SPDX-License-Identifier: BSD-3-Clause
#include "store/event_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace iotrail::store {
namespace {

constexpr unsigned kRowBits = 14;
static_assert(kBlockRowsMax == 1U << kRowBits);
constexpr std::uint64_t kRowMask = kBlockRowsMax - 1;
constexpr std::uint64_t kSpanMax = ~std::uint64_t{0} >> kRowBits; // 13 days of nanoseconds

constexpr unsigned kDigitBits = 11;
constexpr std::size_t kDigits = 1U << kDigitBits;

std::uint64_t time_of(const std::byte* record) {
  std::uint64_t ts_ns = 0;
  std::memcpy(&ts_ns, record + offsetof(io_event, ts_ns), sizeof ts_ns);
  return ts_ns;
}

// By the bits above kRowBits, least significant digit first: a comparison sort costs several times as much.
void radix_sort(std::vector<std::uint64_t>& keys, std::vector<std::uint64_t>& spare,
                unsigned key_bits) {
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

template <class T>
void gather(const std::byte* field, std::span<const std::uint32_t> positions, Numbers& out) {
  for (std::size_t i = 0; i < positions.size(); ++i) {
    T value{};
    std::memcpy(&value, field + positions[i], sizeof value);
    out[i] =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(value)); // signed: two's complement
  }
}

void gather_field(const schema::Field& field, ByteSpan records,
                  std::span<const std::uint32_t> positions, Numbers& out) {
  out.resize(positions.size());
  const std::byte* first = records.data() + field.offset;
  switch (field.type) {
#define TYPE(name, size, is_signed, sql_type)                                                      \
  case schema::Type::name:                                                                         \
    return gather<io_##name>(first, positions, out);
#include "types.def"
#undef TYPE
  case schema::Type::text:
    IOTRAIL_CHECK(false); // records hold numbers only
  }
}

} // namespace

void EventTransposer::sort_by_time(ByteSpan records, std::size_t record_bytes) {
  const std::size_t count = records.size() / record_bytes;
  std::uint64_t low = ~std::uint64_t{0};
  std::uint64_t high = 0;
  bool is_sorted = true;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t ts_ns = time_of(records.data() + i * record_bytes);
    is_sorted = is_sorted && ts_ns >= high;
    low = std::min(low, ts_ns);
    high = std::max(high, ts_ns);
  }
  rows_.first_ns = low;
  rows_.last_ns = high;

  positions_.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    positions_[i] = static_cast<std::uint32_t>(i * record_bytes);
  if (is_sorted)
    return;
  if (high - low > kSpanMax) {
    std::ranges::sort(positions_, {},
                      [&](std::uint32_t at) { return std::pair(time_of(&records[at]), at); });
    return;
  }
  keys_.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    keys_[i] = (time_of(records.data() + i * record_bytes) - low) << kRowBits | i;
  radix_sort(keys_, spare_, kRowBits + static_cast<unsigned>(std::bit_width(high - low)));
  for (std::size_t i = 0; i < count; ++i)
    positions_[i] = static_cast<std::uint32_t>((keys_[i] & kRowMask) * record_bytes);
}

const BlockRows& EventTransposer::transpose(const schema::Event& event, ByteSpan records) {
  IOTRAIL_CHECK(!records.empty() && records.size() % event.size_bytes == 0 &&
                records.size() / event.size_bytes <= kBlockRowsMax);
  sort_by_time(records, event.size_bytes);
  rows_.kind = event.id;
  rows_.columns.resize(event.fields.size());
  for (std::size_t i = 0; i < event.fields.size(); ++i) {
    if (!std::holds_alternative<Numbers>(rows_.columns[i]))
      rows_.columns[i] = Numbers();
    gather_field(event.fields[i], records, positions_, std::get<Numbers>(rows_.columns[i]));
  }
  return rows_;
}

} // namespace iotrail::store

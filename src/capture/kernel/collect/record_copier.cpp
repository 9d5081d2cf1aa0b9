// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/collect/record_copier.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "capture/kernel/collect/translation.hpp"
#include "schema.hpp"

namespace iotrail::capture::kernel {
namespace {

constexpr std::size_t kEventCount = std::size(schema::kEvents);
constexpr std::size_t kUnknown = kEventCount; // its place among the kinds
static_assert(kUnknown <= std::numeric_limits<std::uint8_t>::max());

constexpr bool is_made_by_kernel(const schema::Event& event) {
  return schema::source_of(event.layer) == IOT_source_kernel;
}

// The place of each kind in schema::kEvents.
using Places = std::array<std::uint8_t, IOT_LAYER_COUNT << 8U>;

constexpr Places make_places() {
  Places places{};
  places.fill(kUnknown);
  for (std::size_t i = 0; i < kEventCount; ++i)
    if (is_made_by_kernel(schema::kEvents[i]))
      places.at(schema::kEvents[i].id) = static_cast<std::uint8_t>(i);
  return places;
}

constexpr Places kPlaces = make_places();

const iot_event& event_of(const RecordSlot& slot) {
  return reinterpret_cast<const iot_event&>(slot);
}

// The end of a record's header, which the kernel stores last, as one word: the owner of the slot
// and the kind of the record, also the CPU.
constexpr iot_u64 kNextTag = iot_u64{1} << 32U;
constexpr iot_u64 kAllButCpu = ~iot_u64{UINT16_MAX};
static_assert(offsetof(iot_event, cpu) % sizeof(iot_u64) == 0 &&
              offsetof(iot_event, kind) == offsetof(iot_event, cpu) + 2 &&
              offsetof(iot_event, tag) == offsetof(iot_event, cpu) + 4);

iot_u64 label_of(const RecordSlot& slot) {
  const auto* word = reinterpret_cast<const iot_u64*>(slot.bytes + offsetof(iot_event, cpu));
  return __atomic_load_n(word, __ATOMIC_ACQUIRE) & kAllButCpu;
}

iot_u16 kind_in(iot_u64 label) {
  return static_cast<iot_u16>(label >> 16U);
}

// The end of a header of a finished record of this kind at a position in a ring.
iot_u64 finished_label(std::uint64_t position, iot_u16 kind) {
  return (position + 1) << 32U | iot_u64{kind} << 16U;
}

struct Batch {
  const RecordSlot* slots;
  std::span<const std::uint8_t> chosen; // the slots that hold records of one kind
  KernelIds& ids;
  DeferredFilter& deferred_filter;
  store::TraceWriter& writer;
};

template <Reference kReference>
void translate(std::byte* row, const KernelIds::Lookup& lookup, const Batch& batch) {
  iot_u32 id = 0;
  std::memcpy(&id, row + kReference.offset, sizeof(id));
  if constexpr (kReference.to == Reference::To::device) {
    batch.ids.see_device(id, batch.writer); // a device's number is its id
    return;
  }
  id = lookup.id(kReference.to, id);
  std::memcpy(row + kReference.offset, &id, sizeof(id));
}

// Copies records of the kind at kPlace into `rows`, which has room for all of them.
template <std::size_t kPlace> void fill_rows(std::byte* row, const Batch& batch) {
  static constexpr std::size_t kBytes = schema::kEvents[kPlace].size_bytes;
  static constexpr References kReferences = references_of(schema::kEvents[kPlace]);
  const KernelIds::Lookup lookup = batch.ids.lookup();
  const RecordSlot* const slots = batch.slots;
  for (const std::uint8_t at : batch.chosen) {
    std::memcpy(row, &slots[at], kBytes);
    [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      (translate<kReferences.rows[kIndex]>(row, lookup, batch), ...);
    }(std::make_index_sequence<kReferences.count>());
    row += kBytes;
  }
}

void forget_ended(const Batch& batch) {
  for (const std::uint8_t at : batch.chosen)
    if (const auto& exit = reinterpret_cast<const iot_process_exit&>(batch.slots[at]);
        exit.group_dead != 0)
      batch.ids.process_ended(exit.event.pid);
}

// One by one: each may have to wait.
template <std::size_t kPlace> void take_each(Batch batch) {
  const std::span<const std::uint8_t> all = batch.chosen;
  for (std::size_t i = 0; i < all.size(); ++i) {
    RecordSlot event;
    batch.chosen = all.subspan(i, 1);
    fill_rows<kPlace>(event.bytes, batch);
    batch.deferred_filter.take(event_of(event), batch.writer);
  }
}

template <std::size_t kPlace> void append_kind(Batch batch) {
  static constexpr const schema::Event& kEvent = schema::kEvents[kPlace];
  static_assert(kEvent.size_bytes <= sizeof(RecordSlot));
  if constexpr (kEvent.id == IOT_KIND_process_exit)
    forget_ended(batch);
  if (batch.deferred_filter.is_on())
    return take_each<kPlace>(batch);
  std::span<const std::uint8_t> left = batch.chosen;
  while (!left.empty()) {
    const std::span<std::byte> rows = batch.writer.append_rows(kEvent.id, left.size());
    batch.chosen = left.first(rows.size() / kEvent.size_bytes);
    fill_rows<kPlace>(rows.data(), batch);
    left = left.subspan(batch.chosen.size());
  }
}

// They are passed to the writer, which counts them.
void append_unknown(Batch batch) {
  for (const std::uint8_t at : batch.chosen)
    batch.writer.append(event_of(batch.slots[at]));
}

using AppendKind = void (*)(Batch);

template <std::size_t kPlace> constexpr AppendKind append_function() {
  if constexpr (kPlace == kUnknown || !is_made_by_kernel(schema::kEvents[kPlace]))
    return append_unknown;
  else
    return append_kind<kPlace>;
}

template <std::size_t... kPlace> constexpr auto append_table(std::index_sequence<kPlace...>) {
  return std::array<AppendKind, sizeof...(kPlace)>{append_function<kPlace>()...};
}
constexpr auto kAppend = append_table(std::make_index_sequence<kEventCount + 1>());

} // namespace

// Returns how many of the slots are finished. Records of a kind mostly come several at once.
std::size_t RecordCopier::sort_by_kind(std::span<const RecordSlot> slots, std::uint64_t position) {
  std::size_t at = 0;
  while (at < slots.size()) {
    const iot_u16 kind = kind_in(label_of(slots[at]));
    const std::size_t place = kind < kPlaces.size() ? kPlaces[kind] : kUnknown;
    const std::size_t before = counts_[place];
    std::uint8_t* chosen = &slots_of_[place][before];
    iot_u64 wanted = finished_label(position + at, kind);
    for (; at < slots.size() && label_of(slots[at]) == wanted; wanted += kNextTag)
      *chosen++ = static_cast<std::uint8_t>(at++);
    const auto count = static_cast<std::size_t>(chosen - slots_of_[place].data());
    if (count == before)
      return at;
    if (before == 0)
      present_[present_count_++] = static_cast<std::uint8_t>(place);
    counts_[place] = static_cast<std::uint16_t>(count);
  }
  return at;
}

std::size_t RecordCopier::copy(std::span<const RecordSlot> slots, std::uint64_t position,
                               KernelIds& ids, DeferredFilter& deferred_filter,
                               store::TraceWriter& writer) {
  const std::size_t finished =
      sort_by_kind(slots.first(std::min(slots.size(), kBatchSlots)), position);
  for (const std::uint8_t place : std::span(present_).first(std::exchange(present_count_, 0))) {
    const std::size_t count = std::exchange(counts_[place], 0);
    kAppend[place](
        {slots.data(), std::span(slots_of_[place]).first(count), ids, deferred_filter, writer});
  }
  return finished;
}

} // namespace iotrail::capture::kernel

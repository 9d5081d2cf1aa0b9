// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/aggregate/aggregate_table.hpp"

#include <sys/mman.h>

#include <bpf/libbpf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "capture/kernel/load/bpf_object.hpp"
#include "iotrail.skel.h"
#include "schema.hpp"

namespace iotrail::capture::kernel {
namespace {

constexpr std::size_t kDefaultRows = 1U << 17U; // 8 MiB, twice
constexpr std::size_t kMostRows = 1U << 22U;
// Rows are taken when this part of them is filled: a fuller table has fewer free places.
constexpr std::uint32_t kPartFilled = 4;
constexpr unsigned kBucketsPerOctave = 4;

iot_u8 place_of(const schema::Field* field) {
  if (field == nullptr)
    return 0;
  const iot_u8 size = schema::info(field->type).size_bytes;
  IOTRAIL_CHECK((size == 4 || size == 8) && field->offset % size == 0);
  return static_cast<iot_u8>(field->offset | (size == 8 ? IOT_AGGREGATE_FIELD_WIDE : 0));
}

const schema::Field* field_with(const schema::Event& event, schema::Role role) {
  const auto found = std::ranges::find(event.fields, role, &schema::Field::role);
  return found == event.fields.end() ? nullptr : &*found;
}

const schema::Field* device_field(const schema::Event& event) {
  const auto found =
      std::ranges::find(event.fields, schema::Meaning::device, &schema::Field::meaning);
  return found == event.fields.end() ? nullptr : &*found;
}

// The operation, and its purpose.
iot_u32 mask_of_flags(std::string_view table) {
  iot_u32 mask = schema::choice_mask(table);
  for (const schema::Purpose& purpose : schema::kPurposes)
    if (purpose.table == table)
      mask |= purpose.number;
  return mask;
}

const schema::Field* operation_field(const schema::Event& event) {
  const schema::Field* flags = field_with(event, schema::Role::operation);
  return flags != nullptr ? flags : field_with(event, schema::Role::call);
}

// process_ended() only for the last thread.
const schema::Field* group_dead_field(const schema::Event& event) {
  const auto found = std::ranges::find(event.fields, "group_dead", &schema::Field::name);
  return found == event.fields.end() ? nullptr : &*found;
}

std::string_view call_of(const schema::Event& event, iot_u32 operation) {
  const schema::Field* call = field_with(event, schema::Role::call);
  return call == nullptr ? std::string_view()
                         : schema::value_name(schema::value_table(call->meaning), operation);
}

// As the view `events` has it.
std::string operation_of(const schema::Event& event, iot_u32 operation) {
  if (const schema::Field* flags = field_with(event, schema::Role::operation)) {
    const std::string_view table = schema::value_table(flags->meaning);
    const std::string_view choice =
        schema::value_name(table, operation & schema::choice_mask(table));
    std::string name(choice.empty() ? "other" : choice);
    for (const schema::Purpose& purpose : schema::kPurposes)
      if (purpose.table == table && (operation & purpose.number) != 0)
        return name.append(" ").append(purpose.name);
    return name;
  }
  return std::string(schema::class_name(event, call_of(event, operation)));
}

std::uint64_t field_at(const iot_event& record, iot_u8 place) {
  if (place == 0)
    return 0;
  const auto* at =
      reinterpret_cast<const std::byte*>(&record) + (place & ~unsigned{IOT_AGGREGATE_FIELD_WIDE});
  std::uint64_t value = 0;
  std::memcpy(&value, at, (place & IOT_AGGREGATE_FIELD_WIDE) != 0 ? 8 : 4);
  return value;
}

std::int64_t signed_field_at(const iot_event& record, iot_u8 place) {
  const std::uint64_t value = field_at(record, place);
  return (place & IOT_AGGREGATE_FIELD_WIDE) != 0
             ? static_cast<std::int64_t>(value)
             : static_cast<std::int64_t>(static_cast<std::int32_t>(static_cast<iot_u32>(value)));
}

AggregateKey key_of(const iot_aggregate_key& key) {
  const auto cpu = static_cast<iot_u32>(key.what >> 48U);
  return {.kind = static_cast<iot_u16>(key.what),
          .operation = static_cast<iot_u32>(key.actor >> 32U),
          .pid = static_cast<iot_u32>(key.actor),
          .file = static_cast<iot_u32>(key.object),
          .device = static_cast<iot_u32>(key.object >> 32U),
          .error = static_cast<std::int16_t>(key.what >> 16U),
          .bucket = static_cast<iot_u16>(key.what >> 32U),
          .is_others = cpu == IOT_AGGREGATE_OF_OTHERS};
}

std::uint64_t take_out(iot_u64& number) {
  return __atomic_exchange_n(&number, 0, __ATOMIC_ACQ_REL);
}

rows::event_sums row_of(const AggregateKey& key, const AggregateValues& values,
                        const KernelIds::Lookup& ids) {
  rows::event_sums row;
  const schema::Event* event = schema::find_event(key.kind);
  IOTRAIL_CHECK(event != nullptr);
  const BucketBounds bounds = bounds_of_bucket(key.bucket);
  row.layer = static_cast<iot_u32>(event->layer);
  row.event = key.kind;
  row.operation = operation_of(*event, key.operation);
  row.call = call_of(*event, key.operation);
  row.pid = key.pid;
  row.file = ids.file(key.file);
  row.device = key.device;
  row.error = key.error;
  row.is_others = key.is_others ? 1 : 0;
  row.least_ns = bounds.least_ns;
  row.below_ns = bounds.below_ns;
  row.events = values.events;
  row.bytes = values.bytes;
  row.duration_ns = values.duration_ns;
  row.max_ns = values.max_ns;
  return row;
}

} // namespace

void configure_aggregates(iot_config& config, const AggregateOptions& options) {
  const std::size_t rows = options.rows == 0 ? kDefaultRows : std::min(options.rows, kMostRows);
  config.aggregates = static_cast<iot_u32>(std::bit_ceil(rows));
  config.slots_per_cpu = IOT_AGGREGATE_PLACES;
}

iot_aggregate_fields aggregate_fields_of(const schema::Event& event) {
  iot_aggregate_fields fields{};
  const schema::Field* bytes = field_with(event, schema::Role::bytes);
  const schema::Field* result = field_with(event, schema::Role::result);
  const schema::Field* operation = operation_field(event);
  fields.duration = place_of(field_with(event, schema::Role::duration));
  fields.bytes = place_of(bytes);
  if (bytes != nullptr && bytes->meaning == schema::Meaning::pages)
    fields.bytes_shift = IOT_PAGE_SHIFT;
  fields.result = place_of(result == nullptr ? bytes : result);
  if (result == nullptr && bytes != nullptr && bytes->meaning != schema::Meaning::result)
    fields.result = 0; // bytes without a result are never an error
  fields.file = place_of(field_with(event, schema::Role::file));
  fields.device = place_of(device_field(event));
  if (event.id == IOT_KIND_process_exit)
    operation = group_dead_field(event);
  fields.operation = place_of(operation);
  if (operation != nullptr)
    fields.operation_mask = operation->role == schema::Role::operation
                                ? mask_of_flags(schema::value_table(operation->meaning))
                                : std::numeric_limits<iot_u32>::max();
  return fields;
}

void prepare_aggregates(iotrail_bpf& skeleton, const iot_config& config, std::uint32_t cpu_count) {
  if (config.aggregates == 0)
    return;
  bpf_map__set_max_entries(skeleton.maps.sums, IOT_AGGREGATE_OTHERS + 2 * config.aggregates);
  bpf_map__set_max_entries(skeleton.maps.slots, cpu_count * IOT_AGGREGATE_PLACES);
  for (const schema::Event& event : schema::kEvents)
    if (schema::source_of(event.layer) == IOT_source_kernel)
      skeleton.rodata->iot_aggregate_fields[IOT_LAYER_OF(event.id) * IOT_KIND_LIMIT +
                                            (event.id & (IOT_KIND_LIMIT - 1))] =
          aggregate_fields_of(event);
}

void AggregateValues::add(const AggregateValues& other) {
  events += other.events;
  bytes += other.bytes;
  duration_ns += other.duration_ns;
  max_ns = std::max(max_ns, other.max_ns);
}

iot_u32 bucket_of(std::uint64_t duration_ns) {
  if (duration_ns < kBucketsPerOctave)
    return static_cast<iot_u32>(duration_ns);
  const auto high = static_cast<iot_u32>(std::bit_width(duration_ns) - 1);
  return (high - 1) * kBucketsPerOctave +
         (static_cast<iot_u32>(duration_ns >> (high - 2)) & (kBucketsPerOctave - 1));
}

BucketBounds bounds_of_bucket(iot_u32 bucket) {
  if (bucket == IOT_AGGREGATE_NO_BUCKET)
    return {};
  if (bucket < kBucketsPerOctave)
    return {bucket, bucket + 1ULL};
  const iot_u32 shift = bucket / kBucketsPerOctave - 1;
  const std::uint64_t least = kBucketsPerOctave + bucket % kBucketsPerOctave;
  return {least << shift, (least + 1) << shift};
}

Result<AggregateTable> AggregateTable::map(iotrail_bpf& skeleton, int aggregates_fd,
                                           std::uint32_t rows) {
  const std::size_t count = IOT_AGGREGATE_OTHERS + std::size_t{2} * rows;
  auto mapping =
      Mapping::make(aggregates_fd, count * sizeof(iot_aggregate_row), PROT_READ | PROT_WRITE, 0);
  if (!mapping)
    return std::unexpected(mapping.error());
  AggregateTable table;
  table.mapping_ = std::move(*mapping);
  table.rows_of_half_ = rows;
  table.half_in_use_ = &skeleton.bss->aggregate_half;
  table.rows_made_ = &skeleton.bss->aggregate_rows_made;
  return table;
}

std::span<iot_aggregate_row> AggregateTable::rows() const {
  return {reinterpret_cast<iot_aggregate_row*>(mapping_.data()),
          mapping_.bytes() / sizeof(iot_aggregate_row)};
}

std::span<iot_aggregate_row> AggregateTable::half(std::uint32_t number) const {
  return rows().subspan(IOT_AGGREGATE_OTHERS + std::size_t{number} * rows_of_half_, rows_of_half_);
}

bool AggregateTable::is_filling() const {
  return rows_made_ != nullptr &&
         __atomic_load_n(rows_made_, __ATOMIC_RELAXED) > rows_of_half_ / kPartFilled;
}

void AggregateTable::add(const iot_event& record) {
  const schema::Event* event = schema::find_event(record.kind);
  IOTRAIL_CHECK(event != nullptr);
  const iot_aggregate_fields fields = aggregate_fields_of(*event);
  const auto moved = static_cast<std::int64_t>(field_at(record, fields.bytes));
  const std::uint64_t duration_ns = field_at(record, fields.duration);
  const AggregateKey key{
      .kind = record.kind,
      .operation = static_cast<iot_u32>(field_at(record, fields.operation)) & fields.operation_mask,
      .pid = record.pid,
      .file = static_cast<iot_u32>(field_at(record, fields.file)),
      .device = static_cast<iot_u32>(field_at(record, fields.device)),
      .error = static_cast<iot_s32>(
          std::clamp<std::int64_t>(signed_field_at(record, fields.result), INT16_MIN, 0)),
      .bucket = fields.duration == 0 ? IOT_AGGREGATE_NO_BUCKET : bucket_of(duration_ns)};
  added_[key].add({.events = 1,
                   .bytes = moved > 0 ? static_cast<std::uint64_t>(moved) << fields.bytes_shift : 0,
                   .duration_ns = duration_ns,
                   .max_ns = duration_ns});
}

std::uint64_t AggregateTable::events() const {
  std::uint64_t events = taken_;
  for (const iot_aggregate_row& row : rows())
    events += __atomic_load_n(&row.events, __ATOMIC_ACQUIRE);
  for (const auto& [key, values] : added_)
    events += values.events;
  return events;
}

// Programs still add to these rows. The number of events is taken first: other values added
// meanwhile follow with their event, the next time at the latest.
void AggregateTable::move_others(std::map<AggregateKey, AggregateValues>& aggregates) {
  for (iot_aggregate_row& row :
       rows().first(std::min<std::size_t>(IOT_AGGREGATE_OTHERS, rows().size()))) {
    if (__atomic_load_n(&row.events, __ATOMIC_ACQUIRE) == 0)
      continue;
    const AggregateValues values{.events = take_out(row.events),
                                 .bytes = take_out(row.bytes),
                                 .duration_ns = take_out(row.duration_ns),
                                 .max_ns = take_out(row.max_ns)};
    aggregates[key_of(row.key)].add(values);
  }
}

// No program uses it.
void AggregateTable::move_half(std::uint32_t number,
                               std::map<AggregateKey, AggregateValues>& aggregates) {
  for (iot_aggregate_row& row : half(number)) {
    if (row.events != 0)
      aggregates[key_of(row.key)].add({row.events, row.bytes, row.duration_ns, row.max_ns});
    if (row.key.what != 0)
      row = {};
  }
}

std::map<AggregateKey, AggregateValues>
AggregateTable::count(std::map<AggregateKey, AggregateValues> aggregates) {
  for (const auto& [key, values] : aggregates)
    taken_ += values.events;
  return aggregates;
}

std::map<AggregateKey, AggregateValues> AggregateTable::take() {
  std::map<AggregateKey, AggregateValues> aggregates = std::exchange(added_, {});
  const std::uint32_t number = *half_in_use_;
  __atomic_store_n(rows_made_, 0U, __ATOMIC_RELAXED);
  __atomic_store_n(half_in_use_, 1U - number, __ATOMIC_RELEASE);
  BpfObject::wait_for_programs();
  move_half(number, aggregates);
  move_others(aggregates);
  return count(std::move(aggregates));
}

std::map<AggregateKey, AggregateValues> AggregateTable::take_all() {
  std::map<AggregateKey, AggregateValues> aggregates = std::exchange(added_, {});
  if (half_in_use_ != nullptr) {
    move_half(0, aggregates);
    move_half(1, aggregates);
    move_others(aggregates);
  }
  return count(std::move(aggregates));
}

std::vector<rows::event_sums>
write_aggregate_rows(const std::map<AggregateKey, AggregateValues>& aggregates,
                     std::uint64_t from_ns, std::uint64_t to_ns, KernelIds& ids,
                     store::TraceWriter& writer) {
  std::vector<rows::event_sums> rows;
  rows.reserve(aggregates.size());
  for (const auto& [key, values] : aggregates) {
    if (key.kind == IOT_KIND_process_exit && key.operation != 0)
      ids.process_ended(key.pid);
    if (key.device != 0)
      ids.see_device(key.device, writer);
    rows::event_sums& row = rows.emplace_back(row_of(key, values, ids.lookup()));
    row.from_ns = from_ns;
    row.to_ns = to_ns;
    writer.add(row);
  }
  return rows;
}

} // namespace iotrail::capture::kernel

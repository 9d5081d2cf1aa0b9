// SPDX-License-Identifier: BSD-3-Clause
#include "serve/metrics/live_counts.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "value_text.hpp"

namespace iotrail::serve {
namespace {

using schema::Role;

const schema::Field* field_with(const schema::Event& event, Role role) {
  const auto found = std::ranges::find(event.fields, role, &schema::Field::role);
  return found == event.fields.end() ? nullptr : &*found;
}

const schema::Field* field_with(const schema::Event& event, schema::Meaning meaning) {
  const auto found = std::ranges::find(event.fields, meaning, &schema::Field::meaning);
  return found == event.fields.end() ? nullptr : &*found;
}

// Signed fields: two's complement.
std::uint64_t number_in(const std::byte* record, const schema::Field* field) {
  if (field == nullptr)
    return 0;
  const schema::TypeInfo& type = schema::info(field->type);
  std::uint64_t number = 0;
  std::memcpy(&number, record + field->offset, type.size_bytes);
  const unsigned unused_bits = 64U - 8U * type.size_bytes;
  if (!type.is_signed || unused_bits == 0)
    return number;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(number << unused_bits) >>
                                    unused_bits);
}

std::uint64_t peek_flag() {
  for (const schema::Value& value : schema::kValues)
    if (value.table == "msg" && value.name == "MSG_PEEK")
      return value.number;
  return 0;
}

// The bits of a set of flags that its operation depends on.
std::uint64_t operation_bits(const schema::Field& flags) {
  const std::string_view table = schema::value_table(flags.meaning);
  std::uint64_t bits = schema::choice_mask(table);
  for (const schema::Purpose& purpose : schema::kPurposes)
    if (purpose.table == table)
      bits |= purpose.number;
  return bits;
}

std::string operation_of_flags(const schema::Field& field, std::uint64_t flags) {
  const std::string_view table = schema::value_table(field.meaning);
  std::string name = schema::choice_text(table, flags);
  if (name.empty())
    name = "other";
  for (const schema::Purpose& purpose : schema::kPurposes)
    if (purpose.table == table && (flags & purpose.number) == purpose.number)
      return fmt::format("{} {}", name, purpose.name);
  return name;
}

} // namespace

// A kind of event, with the fields that count, and its sums by the number that names the operation.
struct LiveCounts::Kind {
  explicit Kind(const schema::Event& its_event)
      : event(&its_event), flags(field_with(its_event, Role::operation)),
        call(field_with(its_event, Role::call)), bytes(field_with(its_event, Role::bytes)),
        result(field_with(its_event, Role::result)),
        message_flags(field_with(its_event, schema::Meaning::flags_msg)),
        bits(flags == nullptr ? 0 : operation_bits(*flags)) {}

  const schema::Event* event;
  const schema::Field* flags;
  const schema::Field* call;
  const schema::Field* bytes;
  const schema::Field* result;
  const schema::Field* message_flags;
  std::uint64_t bits;
  std::unordered_map<std::uint64_t, OperationCounts> sums;

  std::uint64_t number_of(const std::byte* record) const {
    return flags != nullptr ? number_in(record, flags) & bits : number_in(record, call);
  }

  std::string name_of(std::uint64_t number) const {
    if (flags != nullptr)
      return operation_of_flags(*flags, number);
    return std::string(schema::class_name(
        *event, call == nullptr ? std::string() : schema::number_text(call->meaning, number)));
  }

  bool is_error(const std::byte* record) const {
    const schema::Field* outcome = result != nullptr ? result : bytes;
    return outcome != nullptr && schema::is_result(outcome->meaning) &&
           static_cast<std::int64_t>(number_in(record, outcome)) < 0 &&
           static_cast<std::int64_t>(number_in(record, outcome)) != IOT_UNFINISHED;
  }

  // MSG_PEEK leaves the bytes in the socket.
  std::uint64_t moved(const std::byte* record) const {
    static const std::uint64_t kPeek = peek_flag();
    if (bytes == nullptr || (number_in(record, message_flags) & kPeek) != 0)
      return 0;
    const std::uint64_t number = number_in(record, bytes);
    if (bytes->meaning == schema::Meaning::pages)
      return number * kPageBytes;
    return schema::info(bytes->type).is_signed && static_cast<std::int64_t>(number) < 0 ? 0
                                                                                        : number;
  }

  static constexpr std::uint64_t kPageBytes = 4096;
};

LiveCounts::LiveCounts() = default;
LiveCounts::~LiveCounts() = default;

void LiveCounts::see_written(const schema::Event& event, std::span<const std::byte> records) {
  const std::lock_guard lock(mutex_);
  Kind& kind = kinds_.try_emplace(event.id, event).first->second;
  std::uint64_t last_number = 0;
  OperationCounts* counts = nullptr; // of `last_number`: rows of one operation follow one another
  for (std::size_t at = 0; at + event.size_bytes <= records.size(); at += event.size_bytes) {
    const std::byte* record = records.data() + at;
    if (const std::uint64_t number = kind.number_of(record);
        counts == nullptr || number != last_number) {
      last_number = number;
      counts = &kind.sums[number];
    }
    ++counts->events;
    counts->errors += kind.is_error(record) ? 1 : 0;
    const std::uint64_t bytes = kind.moved(record);
    if (bytes == 0)
      continue;
    counts->bytes += bytes;
    const auto limit = std::ranges::lower_bound(kSizeLimits, bytes);
    ++counts->sizes[static_cast<std::size_t>(limit - kSizeLimits.begin())];
  }
}

LiveSums LiveCounts::sums() const {
  struct Row {
    const Kind* kind;
    std::uint64_t number;
    OperationCounts counts;
  };
  std::vector<Row> rows;
  { // The writer's thread needs the lock: the names are made after it. Kinds stay where they are.
    const std::lock_guard lock(mutex_);
    for (const auto& [id, kind] : kinds_)
      for (const auto& [number, counts] : kind.sums)
        rows.push_back(Row{&kind, number, counts});
  }
  LiveSums sums;
  for (const Row& row : rows) {
    const Kind& kind = *row.kind;
    const iot_u32 layer = static_cast<iot_u32>(kind.event->layer);
    OperationCounts& sum = sums[{std::string(schema::layer_name(layer)),
                                 std::string(kind.event->name), kind.name_of(row.number)}];
    sum.events += row.counts.events;
    sum.errors += row.counts.errors;
    sum.has_bytes = kind.bytes != nullptr;
    sum.bytes += row.counts.bytes;
    for (std::size_t i = 0; i < row.counts.sizes.size(); ++i)
      sum.sizes[i] += row.counts.sizes[i];
  }
  return sums;
}

} // namespace iotrail::serve

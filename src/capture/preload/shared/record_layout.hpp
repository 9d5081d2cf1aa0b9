// SPDX-License-Identifier: BSD-3-Clause
//
// Positions of an app event's fields in a RawRecord, made from the schema: in its order, without
// gaps. Three fields have members of their own in every record. The duration is end - begin, the
// call is `call`, and an error, which fits 16 bits, is `error`. The library packs and the collector
// unpacks by this table.
#pragma once

#include <array>
#include <limits>
#include <utility>

#include "capture/preload/shared/arena.hpp"
#include "schema.hpp"

namespace iotrail::capture::preload {

struct Carried {
  std::size_t in_event;
  std::size_t in_record; // of RawRecord::fields
  std::size_t size;
  schema::Meaning meaning;
};

constexpr bool is_own(const schema::Field& field) {
  return field.offset >= sizeof(iot_event);
}
constexpr bool is_kept_apart(const schema::Field& field) {
  return field.meaning == schema::Meaning::duration_ns ||
         field.meaning == schema::Meaning::value_app_call ||
         field.meaning == schema::Meaning::error;
}

template <iot_u16 kKind>
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constexpr, which the check does not see in templates
inline constexpr auto kCarried = [] {
  constexpr auto is_carried = [](const schema::Field& field) {
    return is_own(field) && !is_kept_apart(field);
  };
  constexpr std::span<const schema::Field> fields = schema::find_event(kKind)->fields;
  std::array<Carried, std::ranges::count_if(fields, is_carried)> all{};
  std::size_t count = 0;
  std::size_t end = 0;
  for (const schema::Field& field : fields) {
    if (!is_carried(field))
      continue;
    const std::size_t size = schema::info(field.type).size_bytes;
    all[count++] = {field.offset, end, size, field.meaning};
    end += size;
  }
  return all;
}();

// Offset of the event's error; 0, which is in the header: none.
template <iot_u16 kKind> consteval std::size_t error_offset() {
  for (const schema::Field& field : schema::find_event(kKind)->fields)
    if (is_own(field) && field.meaning == schema::Meaning::error && field.type == schema::Type::s64)
      return field.offset;
  return 0;
}
template <iot_u16 kKind>
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constexpr, which the check does not see in templates
inline constexpr std::size_t kErrorOffset = error_offset<kKind>();

namespace detail {

template <iot_u16 kKind> consteval bool fits_a_record() {
  const auto has_one = [](schema::Meaning meaning, std::ptrdiff_t least) {
    const auto fields = schema::find_event(kKind)->fields;
    const auto count = std::ranges::count(fields, meaning, &schema::Field::meaning);
    return count >= least && count <= 1;
  };
  const Carried& last = kCarried<kKind>.back();
  return last.in_record + last.size <= sizeof(RawRecord::fields) &&
         has_one(schema::Meaning::duration_ns, 1) && has_one(schema::Meaning::value_app_call, 1) &&
         has_one(schema::Meaning::error, kErrorOffset<kKind> == 0 ? 0 : 1) &&
         (kErrorOffset<kKind> != 0 || !has_one(schema::Meaning::error, 1));
}

// clang-format off
#define FIELD(type, name, meaning, doc, ...)
#define END(name)
#define EVENT(id, name, layer, doc) \
  static_assert(fits_a_record<id>(), #name " does not fit a record of the preload library"); \
  static_assert(((id) & 0xff) < std::numeric_limits<iot_u64>::digits, #name " has no bit in the mask of events");
#include "app.def"
#undef EVENT
#undef END
#undef FIELD
// clang-format on

} // namespace detail
} // namespace iotrail::capture::preload

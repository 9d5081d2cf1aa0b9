// SPDX-License-Identifier: BSD-3-Clause
//
// Compile-time checks of the schema's rows.
#include <bit>

#include "schema.hpp"

namespace iotrail::schema {
namespace {

constexpr bool is_contiguous(const Event& event) {
  std::size_t end = offsetof(::iot_event, tag) + sizeof(::iot_event::tag);
  for (const Field& field : event.fields.subspan(detail::header::kFields.size())) {
    if (field.offset != end)
      return false;
    end += info(field.type).size_bytes;
  }
  return event.size_bytes - end < sizeof(iot_u64);
}

constexpr bool all_contiguous() {
  return std::ranges::all_of(kEvents,
                             [](const Event& e) { return e.is_dictionary() || is_contiguous(e); });
}

constexpr bool ids_keep_to_their_layer() {
  return std::ranges::all_of(kEvents, [](const Event& e) {
    return IOT_LAYER_OF(e.id) == static_cast<std::uint16_t>(e.layer);
  });
}

constexpr bool fits_masks(const LayerInfo& layer) {
  const auto id = static_cast<std::uint32_t>(layer.layer);
  return id > 0 && id < IOT_LAYER_COUNT;
}

constexpr bool roles_are_given_once(const Event& event) {
  for (const Field& a : event.fields)
    for (const Field& b : event.fields)
      if (&a != &b && a.role == b.role && a.role != Role::none)
        return false;
  return true;
}

constexpr bool is_of_some_class(const ClassTrait& row) {
  return std::ranges::find(kCallClasses, row.class_name, &CallClass::name) !=
             std::end(kCallClasses) ||
         std::ranges::any_of(
             kEvents, [&](const Event& event) { return class_name(event) == row.class_name; });
}

template <class Rows, class Same> constexpr bool all_differ(const Rows& rows, Same same) {
  for (auto a = std::begin(rows); a != std::end(rows); ++a)
    for (auto b = std::next(a); b != std::end(rows); ++b)
      if (same(*a, *b))
        return false;
  return true;
}

static_assert(sizeof(::iot_event) == 40,
              "the event header has padding: order its fields large to small");
static_assert(all_contiguous(),
              "a record has padding between fields: order its fields large to small");
static_assert(std::ranges::all_of(kLayers, fits_masks),
              "a layer's id has no place: raise IOT_LAYER_COUNT");
static_assert(std::ranges::all_of(kCounters,
                                  [](const Counter& c) { return c.id < IOT_COUNTER_LIMIT; }),
              "a counter's id has no place: raise IOT_COUNTER_LIMIT");
static_assert(std::has_single_bit(unsigned{IOT_LAYER_COUNT}) &&
                  std::has_single_bit(unsigned{IOT_COUNTER_LIMIT}),
              "programs mask by it");
static_assert(all_differ(kLayers,
                         [](auto& a, auto& b) {
                           return a.layer == b.layer || a.name == b.name ||
                                  (a.place == b.place && a.place != Place::beside);
                         }),
              "two layers share an id, a name or a place");
static_assert(std::ranges::none_of(kMeanings,
                                   [](const MeaningInfo& m) {
                                     return m.kind == MeaningKind::number &&
                                            (m.name.starts_with("value_") ||
                                             m.name.starts_with("flags_"));
                                   }),
              "a meaning with a table is a row VALUE_OF or FLAGS_OF");
static_assert(std::ranges::all_of(kClassTraits, is_of_some_class),
              "a trait is of a class that nothing has");
static_assert(ids_keep_to_their_layer(), "an event's id does not begin with its layer's id");
static_assert(std::ranges::all_of(kEvents, roles_are_given_once),
              "two fields of an event have the same role");
static_assert(all_differ(kEvents,
                         [](auto& a, auto& b) { return a.id == b.id || a.name == b.name; }),
              "two events share an id or a name");
static_assert(all_differ(kSyscalls,
                         [](auto& a, auto& b) {
                           return a.number == b.number ||
                                  (a.compat_number >= 0 && a.compat_number == b.compat_number);
                         }),
              "two system calls share a number");
static_assert(std::ranges::all_of(kSyscalls,
                                  [](const Syscall& call) {
                                    return call.below == IOT_KIND_none ||
                                           IOT_LAYER_OF(call.below) == IOT_LAYER_vfs;
                                  }),
              "what a system call cannot succeed without is an event of the layer vfs");
static_assert(all_differ(kCounters,
                         [](auto& a, auto& b) { return a.id == b.id || a.name == b.name; }),
              "two counters share an id or a name");

} // namespace
} // namespace iotrail::schema

// SPDX-License-Identifier: BSD-3-Clause
//
// The schema as constant tables, for everything that works on any event alike: store, SQL, output, documents.
// Made from the *.def files; a row there is all it takes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "abi.h"

namespace iotrail::schema {

enum class Type : std::uint8_t {
#define TYPE(name, size, is_signed, sql_type) name,
#include "types.def"
#undef TYPE
  text
};

enum class Meaning : std::uint8_t {
#define MEANING(name, doc) name,
#include "meanings.def"
#undef MEANING
};

enum class Layer : std::uint8_t {
#define LAYER(id, name, doc) name = id,
#include "layers.def"
#undef LAYER
};

enum class Severity : std::uint8_t { info, error, loss };

struct TypeInfo {
  std::string_view name;
  std::uint8_t size_bytes;
  bool is_signed;
  std::string_view sql_type;
};

struct Field {
  std::string_view name;
  Type type;
  std::uint16_t offset; // in the record; 0 in dictionary tables, which have no record
  Meaning meaning;
  std::string_view doc;
};

struct Event {
  std::uint16_t id;
  std::string_view name;
  Layer layer;
  std::uint16_t size_bytes;      // of the record; 0 for a dictionary table
  std::span<const Field> fields; // header fields first, in the order of the columns
  std::string_view doc;

  constexpr bool is_dictionary() const { return layer == Layer::dictionary; }
};

struct LayerInfo {
  Layer layer;
  std::string_view name;
  std::string_view doc;
};
struct MeaningInfo {
  std::string_view name;
  std::string_view doc;
};
struct Value {
  std::string_view table;
  std::uint32_t number;
  std::string_view name;
};
struct Counter {
  std::uint16_t id;
  std::string_view name;
  std::uint32_t source; // a number of the value table `source`
  Severity severity;
  std::string_view doc;
};

namespace detail {

// Rows are read as code fragments, which the formatter does not understand.
// clang-format off
#define FIELD(type, name, meaning, doc) \
  Field{#name, Type::type, offsetof(Record, name), Meaning::meaning, doc},

namespace header {
using Record = ::io_event;
inline constexpr auto kFields = std::to_array<Field>({
#include "header.def"
});
} // namespace header

template <std::size_t N> constexpr auto with_header(const std::array<Field, N>& own) {
  std::array<Field, header::kFields.size() + N> all{};
  std::ranges::copy(own, std::ranges::copy(header::kFields, all.begin()).out);
  return all;
}

#define EVENT(id, name, layer, doc) \
  namespace name {                  \
  using Record = ::io_##name;       \
  inline constexpr auto kFields = with_header(std::to_array<Field>({
#define END(name) \
  }));            \
  }
#include "events.def"
#undef EVENT
#undef FIELD
#undef END

#define EVENT(id, name, layer, doc) \
  namespace name {                  \
  inline constexpr auto kFields = std::to_array<Field>({
#define FIELD(type, name, meaning, doc) Field{#name, Type::type, 0, Meaning::meaning, doc},
#define TEXT(name, doc) Field{#name, Type::text, 0, Meaning::text, doc},
#define END(name) \
  });             \
  }
#include "dictionary.def"
#undef EVENT
#undef FIELD
#undef TEXT
#undef END

} // namespace detail

inline constexpr TypeInfo kTypes[] = {
#define TYPE(name, size, is_signed, sql_type) {#name, size, is_signed != 0, sql_type},
#include "types.def"
#undef TYPE
    {"text", 0, false, "VARCHAR"},
};

inline constexpr LayerInfo kLayers[] = {
#define LAYER(id, name, doc) {Layer::name, #name, doc},
#include "layers.def"
#undef LAYER
};

inline constexpr MeaningInfo kMeanings[] = {
#define MEANING(name, doc) {#name, doc},
#include "meanings.def"
#undef MEANING
};

inline constexpr Value kValues[] = {
#define VALUE(table, number, name) {#table, number, #name},
#include "values.def"
#undef VALUE
};

inline constexpr Counter kCounters[] = {
#define COUNTER(id, name, source, severity, doc) \
  {id, #name, IO_source_##source, Severity::severity, doc},
#include "stats.def"
#undef COUNTER
};

// All events, then the dictionary tables.
inline constexpr Event kEvents[] = {
#define FIELD(type, name, meaning, doc)
#define TEXT(name, doc)
#define EVENT(id, name, layer, doc) \
  {id, #name, Layer::layer, sizeof(::io_##name), detail::name::kFields, doc},
#define END(name)
#include "events.def"
#undef EVENT
#define EVENT(id, name, layer, doc) {id, #name, Layer::layer, 0, detail::name::kFields, doc},
#include "dictionary.def"
#undef EVENT
#undef FIELD
#undef TEXT
#undef END
};

// clang-format on

constexpr const TypeInfo& info(Type type) {
  return kTypes[static_cast<std::size_t>(type)];
}

// nullptr: no such event. The trace may come from another version of iotrail.
constexpr const Event* find_event(std::uint16_t id) {
  for (const Event& event : kEvents)
    if (event.id == id)
      return &event;
  return nullptr;
}

constexpr const Event* find_event(std::string_view name) {
  for (const Event& event : kEvents)
    if (event.name == name)
      return &event;
  return nullptr;
}

constexpr const Counter* find_counter(std::uint32_t id) {
  for (const Counter& counter : kCounters)
    if (counter.id == id)
      return &counter;
  return nullptr;
}

constexpr std::string_view layer_name(std::uint32_t id) {
  for (const LayerInfo& layer : kLayers)
    if (static_cast<std::uint32_t>(layer.layer) == id)
      return layer.name;
  return "";
}

constexpr std::string_view meaning_name(Meaning meaning) {
  return kMeanings[static_cast<std::size_t>(meaning)].name;
}

// The value table that a meaning refers to: "open" for flags_open; empty: it refers to none.
constexpr std::string_view value_table(Meaning meaning) {
  const std::string_view name = meaning_name(meaning);
  for (std::string_view prefix : {"value_", "flags_"})
    if (name.starts_with(prefix))
      return name.substr(prefix.size());
  return "";
}

constexpr bool is_flag_set(Meaning meaning) {
  return meaning_name(meaning).starts_with("flags_");
}

// Empty: the table has no name for the number.
constexpr std::string_view value_name(std::string_view table, std::uint32_t number) {
  for (const Value& value : kValues)
    if (value.number == number && value.table == table)
      return value.name;
  return "";
}

namespace detail {

constexpr bool is_contiguous(const Event& event) {
  std::size_t end = offsetof(::io_event, tag) + sizeof(::io_event::tag);
  for (const Field& field : event.fields.subspan(header::kFields.size())) {
    if (field.offset != end)
      return false;
    end += info(field.type).size_bytes;
  }
  return event.size_bytes - end < sizeof(io_u64);
}

constexpr bool all_contiguous() {
  return std::ranges::all_of(kEvents,
                             [](const Event& e) { return e.is_dictionary() || is_contiguous(e); });
}

constexpr bool ids_keep_to_their_layer() {
  return std::ranges::all_of(kEvents, [](const Event& e) {
    return IO_LAYER_OF(e.id) == static_cast<std::uint16_t>(e.layer);
  });
}

template <class Rows, class Same> constexpr bool all_differ(const Rows& rows, Same same) {
  for (auto a = std::begin(rows); a != std::end(rows); ++a)
    for (auto b = std::next(a); b != std::end(rows); ++b)
      if (same(*a, *b))
        return false;
  return true;
}

static_assert(sizeof(::io_event) == 32,
              "the event header has padding: order its fields large to small");
static_assert(all_contiguous(),
              "a record has padding between fields: order its fields large to small");
static_assert(ids_keep_to_their_layer(), "an event's id does not begin with its layer's id");
static_assert(all_differ(kEvents,
                         [](auto& a, auto& b) { return a.id == b.id || a.name == b.name; }),
              "two events share an id or a name");
static_assert(all_differ(kCounters,
                         [](auto& a, auto& b) { return a.id == b.id || a.name == b.name; }),
              "two counters share an id or a name");

} // namespace detail
} // namespace iotrail::schema

// SPDX-License-Identifier: BSD-3-Clause
//
// The schema as constant tables, for code that handles all events alike: store, SQL, output,
// documents. Generated from the *.def files.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "schema_types.hpp"

namespace iotrail::schema {

namespace detail {

// Rows are read as code fragments, which the formatter does not understand.
// clang-format off
#define FIELD(type, name, meaning, doc, ...) \
  Field{#name, Type::type, offsetof(Record, name), Meaning::meaning, \
        doc __VA_OPT__(, Role::__VA_ARGS__)},

namespace header {
using Record = ::iot_event;
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
  using Record = ::iot_##name;       \
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
#define FIELD(type, name, meaning, doc, ...) \
  Field{#name, Type::type, 0, Meaning::meaning, doc __VA_OPT__(, Role::__VA_ARGS__)},
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
#define LAYER(id, name, source, place, call_rank, doc) \
  {Layer::name, #name, IOT_source_##source, Place::place, call_rank, doc},
#include "layers.def"
};

inline constexpr PlaceInfo kPlaces[] = {
#define PLACE(name, doc) {#name, doc},
#include "layers.def"
};

inline constexpr TraitInfo kTraits[] = {
#define TRAIT(name, doc) {Trait::name, #name, doc},
#include "values.def"
};

inline constexpr ClassTrait kClassTraits[] = {
#define CLASS_TRAIT(class, trait) {#class, Trait::trait},
#include "values.def"
};

inline constexpr MeaningInfo kMeanings[] = {
#define MEANING(name, doc) {#name, doc, MeaningKind::number, {}},
#define VALUE_OF(table, doc) {"value_" #table, doc, MeaningKind::value, #table},
#define FLAGS_OF(table, doc) {"flags_" #table, doc, MeaningKind::flags, #table},
#define ROW_OF(table, doc) {"value_" #table, doc, MeaningKind::row, #table},
#include "meanings.def"
};

// In the order of the enumeration, which begins with `none`.
inline constexpr RoleInfo kRoles[] = {
    {"none", "", "", "", "The event's own."},
#define ROLE(name, column, sql_type, absent, doc) {#name, column, sql_type, absent, doc},
#include "roles.def"
#undef ROLE
};

inline constexpr Value kValues[] = {
#define VALUE(table, number, name) {#table, number, #name},
#include "values.def"
};

inline constexpr Choice kChoices[] = {
#define CHOICE(table, mask, bits) {#table, mask, #bits},
#include "values.def"
};

inline constexpr CallClass kCallClasses[] = {
#define CALL_CLASS(event, call, class) {#event, #call, #class},
#include "values.def"
};

inline constexpr CallTarget kCallTargets[] = {
#define IS_DESCRIPTOR_none() false
#define IS_DESCRIPTOR_on(fd) true
#define IS_DESCRIPTOR_on_stream(stream) false
#define IS_DESCRIPTOR_on_inlined(stream) false
#define IS_DESCRIPTOR_on_flushed(stream) false
#define IS_DESCRIPTOR_on_all_streams() false
#define IS_DESCRIPTOR_find_mapped(fd, flags) true
#define IS_DESCRIPTOR_find_position(stream) false
#define IS_DESCRIPTOR_forget(fd) true
#define IS_DESCRIPTOR_forget_stream(stream) false
#define IS_DESCRIPTOR_forget_directory(dir) false
#define IS_DESCRIPTOR_forget_range(first, last, flags) true
#define CALL_TARGET(call, target) {#call, IS_DESCRIPTOR_##target},
#include "values.def"
#undef IS_DESCRIPTOR_none
#undef IS_DESCRIPTOR_on
#undef IS_DESCRIPTOR_on_stream
#undef IS_DESCRIPTOR_on_inlined
#undef IS_DESCRIPTOR_on_flushed
#undef IS_DESCRIPTOR_on_all_streams
#undef IS_DESCRIPTOR_find_mapped
#undef IS_DESCRIPTOR_find_position
#undef IS_DESCRIPTOR_forget
#undef IS_DESCRIPTOR_forget_stream
#undef IS_DESCRIPTOR_forget_directory
#undef IS_DESCRIPTOR_forget_range
};

inline constexpr Purpose kPurposes[] = {
#define PURPOSE(table, number, purpose) {#table, number, #purpose},
#include "values.def"
};

inline constexpr Syscall kSyscalls[] = {
#define SYSCALL(number, compat, name, event, fd, path, below) \
  {number, compat, #name, IOT_KIND_##event, fd, path, IOT_KIND_##below},
#include "syscalls.def"
};

inline constexpr SyscallAlias kSyscallAliases[] = {
#define SYSCALL_ALIAS(compat, name) {IOT_syscall_##name, compat},
#include "syscalls.def"
};

inline constexpr SyscallTraitRow kSyscallTraits[] = {
#define SYSCALL_TRAIT(name, trait) {IOT_syscall_##name, SyscallTrait::trait},
#include "syscalls.def"
};

inline constexpr Counter kCounters[] = {
#define COUNTER(id, name, source, severity, doc) \
  {id, #name, IOT_source_##source, Severity::severity, doc},
#include "stats.def"
#undef COUNTER
};

// Recorded only if the user names them.
inline constexpr std::uint16_t kEventsOnRequest[] = {
#define ON_REQUEST(event) IOT_KIND_##event,
#include "on_request.def"
};
inline constexpr std::uint16_t kEventsForDisks[] = {
#define FOR_DISKS(event) IOT_KIND_##event,
#include "on_request.def"
};
inline constexpr Layer kLayersOnRequest[] = {
#define LAYER_ON_REQUEST(layer) Layer::layer,
#include "on_request.def"
};

// All events, then the dictionary tables.
inline constexpr Event kEvents[] = {
#define FIELD(type, name, meaning, doc, ...)
#define TEXT(name, doc)
#define EVENT(id, name, layer, doc) \
  {id, #name, Layer::layer, sizeof(::iot_##name), detail::name::kFields, doc},
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

// nullptr: no such event, as for a trace of another version of iotrail.
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

constexpr bool is_on_request(const Event& event) {
  return std::ranges::find(kEventsOnRequest, event.id) != std::end(kEventsOnRequest);
}

// On request, but usual in recordings of disks and mounts.
constexpr bool is_for_disks(const Event& event) {
  return std::ranges::find(kEventsForDisks, event.id) != std::end(kEventsForDisks);
}

// Recorded by a verb of its own, never by `record`.
constexpr bool has_own_verb(Layer layer) {
  return layer == Layer::fuse;
}

constexpr bool is_on_request(Layer layer) {
  return std::ranges::find(kLayersOnRequest, layer) != std::end(kLayersOnRequest);
}

constexpr const Counter* find_counter(std::uint32_t id) {
  for (const Counter& counter : kCounters)
    if (counter.id == id)
      return &counter;
  return nullptr;
}

// nullptr: no such layer.
constexpr const LayerInfo* find_layer(std::uint32_t id) {
  for (const LayerInfo& layer : kLayers)
    if (static_cast<std::uint32_t>(layer.layer) == id)
      return &layer;
  return nullptr;
}

// These two do not call find_layer(): g++ 12 with -fsanitize=undefined rejects a comparison of such
// an address in a constant.
constexpr std::string_view layer_name(std::uint32_t id) {
  for (const LayerInfo& layer : kLayers)
    if (static_cast<std::uint32_t>(layer.layer) == id)
      return layer.name;
  return {};
}

// The source of a layer's events, a number of the value table `source`; 0: no such layer.
constexpr std::uint32_t source_of(std::uint32_t layer) {
  for (const LayerInfo& row : kLayers)
    if (static_cast<std::uint32_t>(row.layer) == layer)
      return row.source;
  return 0;
}

constexpr std::uint32_t source_of(Layer layer) {
  return source_of(static_cast<std::uint32_t>(layer));
}

constexpr const RoleInfo& info(Role role) {
  return kRoles[static_cast<std::size_t>(role)];
}

constexpr std::string_view severity_name(Severity severity) {
  constexpr std::string_view kNames[] = {"info", "error", "gap", "loss"};
  return kNames[static_cast<std::size_t>(severity)];
}

constexpr const Counter* find_counter(std::string_view name) {
  for (const Counter& counter : kCounters)
    if (counter.name == name)
      return &counter;
  return nullptr;
}

constexpr const MeaningInfo& info(Meaning meaning) {
  return kMeanings[static_cast<std::size_t>(meaning)];
}

constexpr std::string_view meaning_name(Meaning meaning) {
  return info(meaning).name;
}

// A meaning that this version does not know is a plain number.
constexpr Meaning find_meaning(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kMeanings); ++i)
    if (kMeanings[i].name == name)
      return static_cast<Meaning>(i);
  return Meaning::number;
}

// The value table of a meaning: "open" for flags_open; empty: none.
constexpr std::string_view value_table(Meaning meaning) {
  return info(meaning).table;
}

// A key of the table strings.
constexpr bool is_string_key(Meaning meaning) {
  return meaning == Meaning::path || meaning == Meaning::string || meaning == Meaning::stack;
}

// A negative number is an error.
constexpr bool is_result(Meaning meaning) {
  return meaning == Meaning::result || meaning == Meaning::result_fd || meaning == Meaning::error;
}

constexpr bool is_flag_set(Meaning meaning) {
  return info(meaning).kind == MeaningKind::flags;
}

// A field's name in SQL, in exports and in documents: names that SQL reserves would need quotes.
constexpr std::string_view column_name(std::string_view field) {
  constexpr std::pair<std::string_view, std::string_view> kWordsOfSql[] = {
      {"offset", "position"}, {"index", "first_page"}, {"end", "end_position"}};
  for (const auto& [word, name] : kWordsOfSql)
    if (field == word)
      return name;
  return field;
}

// SQL shows the name of a value instead of its number.
constexpr Type type_in_sql(Type type, Meaning meaning) {
  return value_table(meaning).empty() || is_flag_set(meaning) ? type : Type::text;
}

constexpr std::string_view sql_type(Type type, Meaning meaning) {
  return info(type_in_sql(type, meaning)).sql_type;
}

// Empty: the table has no name for the number.
constexpr std::string_view value_name(std::string_view table, std::uint32_t number) {
  for (const Value& value : kValues)
    if (value.number == number && value.table == table)
      return value.name;
  return "";
}

constexpr bool has_trait(std::string_view class_name, Trait trait) {
  return std::ranges::any_of(kClassTraits, [&](const ClassTrait& row) {
    return row.class_name == class_name && row.trait == trait;
  });
}

constexpr bool has_trait(const Syscall& call, SyscallTrait trait) {
  return std::ranges::any_of(kSyscallTraits, [&](const SyscallTraitRow& row) {
    return row.number == call.number && row.trait == trait;
  });
}

constexpr std::string_view place_name(Place place) {
  return kPlaces[static_cast<std::size_t>(place)].name;
}

// Default class of an event: its name without its layer.
constexpr std::string_view class_name(std::string_view event, std::string_view layer) {
  const bool has_layer =
      event.size() > layer.size() && event.starts_with(layer) && event[layer.size()] == '_';
  return has_layer ? event.substr(layer.size() + 1) : event;
}

constexpr std::string_view class_name(const Event& event) {
  return class_name(event.name, layer_name(static_cast<std::uint32_t>(event.layer)));
}
// The same, or the class of its call if the call has a more exact one.
constexpr std::string_view class_name(const Event& event, std::string_view call) {
  for (const CallClass& row : kCallClasses)
    if (!call.empty() && row.event == event.name && row.call == call)
      return row.name;
  return class_name(event);
}

// The bits of a set of flags that hold one choice; 0: each bit stands alone.
constexpr std::uint32_t choice_mask(std::string_view table) {
  for (const Choice& choice : kChoices)
    if (choice.table == table)
      return choice.mask;
  return 0;
}

} // namespace iotrail::schema

// SPDX-License-Identifier: BSD-3-Clause
//
// Types of the rows of the *.def files, and their enumerations; schema.hpp has the rows.
#pragma once

#include <cstddef>
#include <cstdint>
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
};

enum class Role : std::uint8_t {
  none,
#define ROLE(name, column, sql_type, absent, doc) name,
#include "roles.def"
#undef ROLE
};

enum class Layer : std::uint8_t {
#define LAYER(id, name, source, place, call_rank, doc) name = id,
#include "layers.def"
};

// Part of a layer in an I/O.
enum class Place : std::uint8_t {
#define PLACE(name, doc) name,
#include "layers.def"
};

// Properties of operations of a class.
enum class Trait : std::uint8_t {
#define TRAIT(name, doc) name,
#include "values.def"
};

enum class Severity : std::uint8_t { info, error, gap, loss };

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
  Role role = Role::none;
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
  std::uint32_t source; // a number of the value table `source`
  Place place;
  std::uint8_t
      call_rank; // files and processes are counted at the layer with the smallest; 0: never at this one
  std::string_view doc;
};
struct PlaceInfo {
  std::string_view name;
  std::string_view doc;
};
struct TraitInfo {
  Trait trait;
  std::string_view name;
  std::string_view doc;
};
struct ClassTrait {
  std::string_view class_name;
  Trait trait;
};
// Kind of a number: a value of a table in values.def, a set of them, the id of a row of another
// file, or a plain number.
enum class MeaningKind : std::uint8_t { number, value, flags, row };
struct MeaningInfo {
  std::string_view name;
  std::string_view doc;
  MeaningKind kind;
  std::string_view table; // empty: a plain number
};
struct RoleInfo {
  std::string_view name;
  std::string_view column; // of the view `events`; empty: none
  std::string_view sql_type;
  std::string_view absent; // value of the column if no field has the role
  std::string_view doc;
};
struct Value {
  std::string_view table;
  std::uint32_t number;
  std::string_view name;
};
// Numbers of `table` within `mask` exclude one another; flags above are bits, values of `bits`.
struct Choice {
  std::string_view table;
  std::uint32_t mask;
  std::string_view bits;
};
struct CallClass {
  std::string_view event;
  std::string_view call;
  std::string_view name;
};
// Target of a function of the C library, from its row in libc_calls.def.
struct CallTarget {
  std::string_view call;
  bool is_descriptor; // bypasses stdio streams
};
// Purpose of an I/O, from a flag of the value table `table`.
struct Purpose {
  std::string_view table;
  std::uint32_t number;
  std::string_view name;
};
// Argument indices are -1 if the call has no such argument.
struct Syscall {
  std::uint16_t number;       // of the value table `syscall`
  std::int16_t compat_number; // -1: none
  std::string_view name;
  std::uint16_t event; // kind
  std::int8_t fd_argument;
  std::int8_t path_argument;
  std::uint16_t below; // kind of the layer vfs that every successful call causes; 0: none
};
enum class SyscallTrait : std::uint8_t {
  is_plain,
  names_position,
  may_append,
  overwrites_timeout,
  names_memory
};
struct SyscallTraitRow {
  std::uint16_t number;
  SyscallTrait trait;
};
struct SyscallAlias {
  std::uint16_t number;
  std::int16_t compat_number;
};
struct Counter {
  std::uint16_t id;
  std::string_view name;
  std::uint32_t source; // a number of the value table `source`
  Severity severity;
  std::string_view doc;
};

} // namespace iotrail::schema

// SPDX-License-Identifier: BSD-3-Clause
//
// Rows of the dictionary tables as C++ structures, made from dictionary.def: rows::files, rows::processes, ...
// `visit(row, f)` calls f with each column's value in order, `kind_of<Row>` is the table's id.
#pragma once

#include <string>

#include "abi.h"

namespace iotrail::rows {

// Rows are read as code fragments, which the formatter does not understand.
// clang-format off
#define EVENT(id, name, layer, doc) struct name {
#define FIELD(type, name, meaning, doc, ...) iot_##type name{};
#define TEXT(name, doc) std::string name{};
#define END(name) };
#include "dictionary.def"
#undef EVENT
#undef FIELD
#undef TEXT
#undef END

#define EVENT(id, name, layer, doc) \
  template <class F> void visit(const struct name& row, F&& f) {
#define FIELD(type, name, meaning, doc, ...) f(row.name);
#define TEXT(name, doc) f(row.name);
#define END(name) }
#include "dictionary.def"
#undef EVENT
#undef FIELD
#undef TEXT
#undef END

template <class Row> inline constexpr iot_u16 kind_of = 0;
#define EVENT(id, name, layer, doc) template <> inline constexpr iot_u16 kind_of<struct name> = id;
#define FIELD(type, name, meaning, doc, ...)
#define TEXT(name, doc)
#define END(name)
#include "dictionary.def"
#undef EVENT
#undef FIELD
#undef TEXT
#undef END

// clang-format on

} // namespace iotrail::rows

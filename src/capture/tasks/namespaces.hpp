// SPDX-License-Identifier: BSD-3-Clause
//
// The namespaces of processes (schema/namespaces.def), by inode numbers.
#pragma once

#include <functional>

#include "abi.h"

namespace iotrail::capture {

// Of the process whose directory in /proc `directory` is. What cannot be read is 0, and `on_unread` is called with errno as it
// is; empty: nothing is.
iot_namespaces read_namespaces(int directory, const std::function<void()>& on_unread = {});

// Into the fields of a row, or of a record, that are called after them.
template <class Row> void put_namespaces(const iot_namespaces& from, Row& row) {
#define NAMESPACE(name, link) row.name##_namespace = from.name;
#include "namespaces.def"
#undef NAMESPACE
}

} // namespace iotrail::capture

// SPDX-License-Identifier: BSD-3-Clause
//
// The namespaces of processes (schema/namespaces.def), by inode numbers.
#pragma once

#include <functional>

#include "abi.h"

namespace iotrail::capture {

// Namespaces of the process with the /proc directory `directory`. An unreadable one is 0; then
// `on_unread` is called with errno set, if it is not empty.
iot_namespaces read_namespaces(int directory, const std::function<void()>& on_unread = {});

// Copies them into the fields of a row or record with the same names.
template <class Row> void put_namespaces(const iot_namespaces& from, Row& row) {
#define NAMESPACE(name, link) row.name##_namespace = from.name;
#include "namespaces.def"
#undef NAMESPACE
}

} // namespace iotrail::capture

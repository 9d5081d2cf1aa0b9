// SPDX-License-Identifier: BSD-3-Clause
//
// The rows from which both forms of events are made, in the order of time.
#pragma once

#include <string>

#include "compat/iotrace/answers/cells.hpp"

namespace iotrail::compat::iotrace {

// The columns of io_rows_sql().
struct IoColumn {
  enum : std::size_t {
    at_ns,
    step, // 0: arrival of an I/O; 1: its completion; 2: a change of a name
    io,
    device,
    device_name,
    model,
    operation,
    sector,
    sectors,
    latency_ns,
    depth,
    error,
    is_flush,
    is_fua,
    is_metadata,
    is_direct,
    is_read_ahead,
    size_class,
    write_hint,
    file,
    file_system,
    inode,
    offset_sectors,
    file_sectors,
    path,
    kind, // of the change of a name
  };
};

// `with_completions`: also a row for the end of each I/O.
std::string io_rows_sql(bool with_completions);

std::string operation_name(Row row);  // "Read", "Write", "Discard"; a flush is a write
std::string event_type_name(Row row); // "Access", "Create", "Delete", "MoveTo", "MoveFrom"
int io_class_number(Row row);         // as in the kernel module of iotrace
std::string lba_of(Row row);          // "0" of a flush

} // namespace iotrail::compat::iotrace

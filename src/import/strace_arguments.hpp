// SPDX-License-Identifier: BSD-3-Clause
//
// Which argument of a system call, as strace prints it, is which field of its event. The meaning of
// the field says how its text is read.
#pragma once

#include <span>
#include <string_view>

#include "import/event_row.hpp"
#include "import/strace_line.hpp"
#include "import/trace_builder.hpp"

namespace iotrail::import {

// The file that strace names; its kind, if the name says it.
std::uint32_t strace_file(std::string_view name, TraceBuilder& trace);

// Sets the fields of `row` that the arguments give.
void set_arguments(const StraceCall& call, const schema::Syscall& syscall, EventRow& row,
                   TraceBuilder& trace);

} // namespace iotrail::import

// SPDX-License-Identifier: BSD-3-Clause
//
// Messages on stderr. On a terminal they are wrapped where it ends; elsewhere (logs, scripts) a line stays one line.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "store/reader/trace_reader.hpp"

namespace iotrail::cli {

// Printable text of one or more lines. What a line goes on with stands two blanks further in than it began.
void tell(std::string_view text);
// The same at any width: for a summary, which people read wherever it goes.
void tell(std::string_view text, std::size_t width);

// Runs what prints on stderr. That nobody takes it is no error: what it tells of has been done.
void tell_if_heard(const std::function<void()>& print);

// Why what was read from the trace may not be the whole truth. What prints rows alone says it here, beside them.
void tell_warnings(const store::TraceReader& trace);
// If the event was not recorded, that it was not: no rows do not say that nothing happened.
void tell_not_recorded(const store::TraceReader& trace, const store::TableInfo& table);

} // namespace iotrail::cli

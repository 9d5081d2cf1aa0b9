// SPDX-License-Identifier: BSD-3-Clause
//
// Messages on standard error. On a terminal they are wrapped where it ends; elsewhere (logs, scripts) a line stays one line.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "cli/console.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::cli {

// Printable text of one or more lines. The parts of a wrapped line stand two blanks further in than its begin.
void print_message(const Stream& err, std::string_view text);
// The same at any width: for a summary, which people read wherever it goes.
void print_message(const Stream& err, std::string_view text, std::size_t width);

// Runs `print`, which prints on `err`. A closed standard error is no error: what it reports has been done.
void print_if_open(const Stream& err, const std::function<void()>& print);

// Why what was read from the trace may not be the whole truth. Verbs that print only rows say it here, beside them.
void print_warnings(const Stream& err, const store::TraceReader& trace);
// Says that the event was not recorded, if so: no rows do not mean that nothing happened.
void print_not_recorded(const Stream& err, const store::TraceReader& trace,
                        const store::TableInfo& table);

} // namespace iotrail::cli

// SPDX-License-Identifier: BSD-3-Clause
//
// One event as a line of a script, by the meanings of its fields: this code knows no event by name.
#pragma once

#include <string>

#include "analysis/names/trace_dictionaries.hpp"
#include "store/reader/event_stream.hpp"

namespace iotrail::output {

// Without the time: `sqlite3[12] syscall pwrite64(fd=3 </tmp/x>, 4096 @ 8192) = 4096 <12.3 us>
// op=7`
std::string event_text(const store::EventStream& event,
                       const analysis::TraceDictionaries& dictionaries);

} // namespace iotrail::output

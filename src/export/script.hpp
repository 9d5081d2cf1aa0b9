// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>

#include "base/result.hpp"
#include "export/script_filter.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::output {

// One line per event in the order of time, in bounded memory:
// 12:34:56.789012345 sqlite3[1234] syscall pwrite64(fd=3 </tmp/x.db>, 4096 @ 8192) = 4096 <12.3 us> op=7
// `kinds` empty: all events. Returns the number of lines, of those that the selection has.
Result<std::uint64_t> write_script(const store::TraceReader& trace, std::FILE* file,
                                   const std::vector<iot_u16>& kinds = {},
                                   const ScriptSelection& selection = {});

} // namespace iotrail::output

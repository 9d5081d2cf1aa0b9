// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "store/reader/trace_reader.hpp"

namespace iotrail::output {

// SQL of a relation with what only the tables of events have, by event, op_id and ts_ns:
//   layer, pid, end_ns, call, file   as in operations; when it ended
//   what          'open', 'duplicate', 'close', 'close_range', 'pipe', 'seek', 'status', 'close_on_exec',
//                 'lock', 'flock', 'delete'; '': nothing of these
//   fd, result    the descriptor of the call; its result
//   flags, argument, command, lock, whence, position, requested, from_fd, to_fd   of some events
std::string otf2_details_sql(const store::TraceReader& trace);

} // namespace iotrail::output

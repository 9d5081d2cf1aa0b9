// SPDX-License-Identifier: BSD-3-Clause
//
// The SQL that is made from the trace itself before views/*.sql are loaded: a view per table, the view `events`, and
// small tables of the manifest. Which column of an event is its bytes, its error, its file is told by the meanings of
// the trace's schema, so an event of another version of iotrail fits in as well.
//
// events: one row per event
//   layer, event      names of the schema
//   class             what it does: the event's name without its layer ("read", "open"); of a completed block
//                     request, the operation ("read", "write", "flush"); of fflush, "flush"
//   call              the function or system call, where the event tells, else NULL
//   op_id, pid, tid, cpu, ts_ns   as in the event
//   duration_ns       NULL: not a span
//   bytes             bytes moved: the result of calls that move data, the length of block I/O, pages times 4096 of
//                     the cache; NULL where no data moves
//   error             0 or a negative errno
//   file, to_file     keys of files (0: none); to_file is the second file of a copy
//   path              key of strings (0: none)
//
// tables: one row per table of the trace
//   name, layer         as in the schema
//   row_count           rows, as block headers tell: of a damaged trace, more than can be read
//   first_ns, last_ns   smallest and largest time in it
#pragma once

#include <string>

#include "store/trace_reader.hpp"

namespace iotrail::analysis {

std::string table_views_sql(const store::TraceReader& reader);
std::string table_list_sql(const store::TraceReader& reader);
std::string events_view_sql(const store::TraceReader& reader);
std::string manifest_tables_sql(const store::Manifest& manifest);

} // namespace iotrail::analysis

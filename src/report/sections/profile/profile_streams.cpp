// SPDX-License-Identifier: BSD-3-Clause
//
// The pattern of each stream: a thread that reads or writes a file.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kStreamColumns[] = {
    {.title = "layer", .name = "layer", .drop_priority = 3},
    {.title = "", .name = "direction"},
    {.title = "pattern", .name = "pattern"},
    {.title = "step",
     .name = "step_bytes",
     .meaning = Meaning::bytes,
     .omit = Omit::if_unknown,
     .drop_priority = 2},
    {.title = "accesses", .name = "accesses", .meaning = Meaning::count, .is_sum = true},
    {.title = "bytes", .name = "bytes", .meaning = Meaning::bytes, .is_sum = true},
    {.title = "mean gap",
     .name = "gap_mean_bytes",
     .meaning = Meaning::bytes,
     .zero_is_dash = true,
     .drop_priority = 1},
    {.title = "process", .name = "_process"},
    {.title = "file", .name = "path", .meaning = Meaning::path},
};
constexpr std::string_view kStreamsSql = R"(
SELECT s.layer AS layer, s.direction AS direction, s.pattern AS pattern, s.step_bytes AS step_bytes, s.accesses AS accesses, s.bytes AS bytes,
       s.gap_mean_bytes AS gap_mean_bytes, s.sequential AS sequential, s.repeated AS repeated, s.reverse AS reverse, s.strided AS strided,
       s.random AS random, s.pid AS pid, s.stream AS tid, p.comm AS comm,
       coalesce(p.comm, 'pid') || '[' || s.stream || ']' AS _process, s.path AS path, s.file AS file
FROM access_streams AS s LEFT JOIN programs AS p ON s.pid = p.program_pid
WHERE s.layer IN (SELECT asked_layer FROM asked_layers))";

void note_streams(const SectionRows&, const store::TraceReader&, Section& section) {
  note_rest(section, "streams");
}

} // namespace

SectionDefinition profile_streams_section() {
  return {.id = "streams",
          .ranks = {.profile = 20},
          .title = "Streams: a thread that reads or writes a file",
          .view = "access_streams",
          .sql = kStreamsSql,
          .order = "bytes DESC, accesses DESC, path, tid, direction",
          .order_label = "bytes",
          .rows = 8,
          .columns = kStreamColumns,
          .add_notes = note_streams};
}

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
//
// Waits for file locks of other processes.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kLockColumns[] = {
    {.title = "waited", .name = "wait_ns", .meaning = Meaning::ns, .zero_is_dash = true},
    {.title = "longest",
     .name = "longest_ns",
     .meaning = Meaning::ns,
     .zero_is_dash = true,
     .drop_priority = 2},
    {.title = "times", .name = "waits", .meaning = Meaning::count, .zero_is_dash = true},
    {.title = "refused",
     .name = "refused",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 1},
    {.title = "lock", .name = "lock", .drop_priority = 3},
    {.title = "held by", .name = "_holder"},
    {.title = "file", .name = "path", .meaning = Meaning::path},
};

void note_locks(const SectionRows&, const store::TraceReader&, Section& section) {
  Sentence note = sentence("held by: who had such a lock, or was before in the queue");
  if (section.all_rows > section.rows.size())
    note.add("; {shown} of {all} rows, all: iotrail query TRACE \"FROM lock_waits\"",
             {count_value("shown", section.rows.size()), count_value("all", section.all_rows)});
  section.notes.push_back(std::move(note));
}

} // namespace

SectionDefinition lock_waits_section() {
  return {.id = "lock_waits",
          .ranks = {.report = 80},
          .title = "Locks of files that others had",
          .view = "lock_waits",
          .sql = "SELECT *, CASE WHEN blocker = 0 THEN '-' ELSE coalesce(comm, '') || '[' || "
                 "blocker || ']' END AS _holder FROM lock_waits",
          .order = "coalesce(wait_ns, 0) DESC, refused DESC, path, lock, blocker",
          .order_label = "time waited",
          .rows = 5,
          .columns = kLockColumns,
          .add_notes = note_locks};
}

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
//
// The causes of device I/O.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kCauseColumns[] = {
    {.title = "device", .name = "device_name", .suppress_repeats = true, .drop_priority = 3},
    {.title = "", .name = "direction"},
    {.title = "bytes", .name = "bytes", .meaning = Meaning::bytes},
    {.title = "why", .name = "cause"},
    {.title = "call", .name = "call", .drop_priority = 2},
    {.title = "calls",
     .name = "operations",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 4},
    {.title = "delay",
     .name = "delay_ns",
     .meaning = Meaning::ns,
     .omit = Omit::if_unknown,
     .drop_priority = 5},
    {.title = "process", .name = "_process", .drop_priority = 1},
    {.title = "file", .name = "path", .meaning = Meaning::path},
};
constexpr std::string_view kCausesSql = R"(
WITH
  shown AS MATERIALIZED (SELECT * FROM device_causes),
  sums AS (
    SELECT total(bytes) AS _all_bytes, total(exact_bytes) AS _exact_bytes,
           total(CASE is_remainder WHEN 0 THEN bytes ELSE 0 END) AS _attributed_bytes
    FROM shown
  ),
  names AS (SELECT comm, min(pid) <> max(pid) AS has_several FROM shown WHERE pid <> 0 GROUP BY comm)
SELECT c.*, a._all_bytes AS _all_bytes, a._exact_bytes AS _exact_bytes, a._attributed_bytes AS _attributed_bytes,
       CASE WHEN c.pid = 0 THEN NULL WHEN coalesce(c.comm, '') = '' THEN CAST(c.pid AS VARCHAR)
            WHEN n.has_several THEN c.comm || '[' || c.pid || ']' ELSE c.comm END AS _process
FROM shown AS c CROSS JOIN sums AS a LEFT JOIN names AS n ON c.comm = n.comm)";

void note_causes(const SectionRows& rows, const store::TraceReader& trace, Section& section) {
  const std::uint64_t all = rows.number(0, "_all_bytes");
  if (all == 0)
    return;
  const std::uint64_t attributed = rows.number(0, "_attributed_bytes");
  Sentence note = sentence(
      "{attributed_share} of {bytes} that the devices completed have a cause",
      {share_value("attributed_share", static_cast<double>(attributed) / static_cast<double>(all)),
       bytes_value("bytes", all)});
  note.add(rows.number(0, "_exact_bytes") < attributed ? ", not all of them exact" : "");
  if (const std::uint64_t more = section.all_rows - rows.size(); more > 0)
    note.add("; {more} smaller ones are not shown", {count_value("more", more)});
  note.add("; what the words mean: iotrail query TRACE \"FROM causes\"");
  section.notes.push_back(std::move(note));
  note_lost_completions(rows, trace, section);
}

} // namespace

SectionDefinition device_causes_section() {
  return {.id = "device_causes",
          .ranks = {.report = 100},
          .title = "Who caused what the devices did",
          .view = "device_causes",
          .sql = kCausesSql,
          .order = "bytes DESC, device_name, direction, cause, call, path, pid",
          .order_label = "bytes",
          .rows = 8,
          .columns = kCauseColumns,
          .add_notes = note_causes};
}

} // namespace iotrail::output

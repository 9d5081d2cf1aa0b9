// SPDX-License-Identifier: BSD-3-Clause
//
// The time of the run by operation.
#include <fmt/format.h>

#include "report/columns.hpp"
#include "report/section.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kTimeColumns[] = {
    {.title = "layer", .name = "layer", .suppress_repeats = true},
    {.title = "operation", .name = "_operation"},
    {.title = "calls", .name = "operations", .meaning = Meaning::count, .is_sum = true},
    kTotalColumn,
    {.title = "of run", .name = "share", .meaning = Meaning::share},
    {.title = "p50", .name = "p50_ns", .meaning = Meaning::ns, .drop_priority = 2},
    {.title = "p99", .name = "p99_ns", .meaning = Meaning::ns, .drop_priority = 1},
    {.title = "max", .name = "max_ns", .meaning = Meaning::ns},
    {.title = "errors",
     .name = "errors",
     .meaning = Meaning::count,
     .zero_is_dash = true,
     .drop_priority = 3,
     .never_drop = true,
     .is_sum = true},
    {.title = "bytes",
     .name = "bytes",
     .meaning = Meaning::bytes,
     .drop_priority = 4,
     .is_sum = true},
};
constexpr std::string_view kTimeSql = R"(
SELECT t.*, CASE WHEN on_files THEN operation ELSE operation || ' (no file)' END AS _operation, d.depth AS _depth,
       l.share AS _layer_share, l.file_share AS _file_share, l.busy_ns AS _layer_ns, l.file_busy_ns AS _file_ns,
       r.duration_ns AS _run_ns, m.bytes AS _mapped_bytes
FROM time_spent AS t
  JOIN layer_times AS l ON t.layer = l.layer
  LEFT JOIN layer_list AS d ON t.layer = d.layer
  CROSS JOIN run AS r
  CROSS JOIN (SELECT coalesce(total(bytes), 0) AS bytes FROM links WHERE cause = 'mapped_read') AS m)";
constexpr std::uint64_t kLeastMappedBytes = 65536;

// ", of syscall: 91.0 % (on files: 2.8 %)"
void note_layer(const SectionRows& rows, std::size_t row, Sentence& note) {
  note.add(row == 0 ? " any of {layer}: {layer_share}" : ", of {layer}: {layer_share}",
           {text_value("layer", rows.text(row, "layer")),
            share_value("layer_share", rows.real(row, "_layer_share"))});
  if (rows.number(row, "_file_ns") != rows.number(row, "_layer_ns"))
    note.add(" (on files: {file_share})",
             {share_value("file_share", rows.real(row, "_file_share"))});
}

// Faults are no calls: where they are not recorded, their time is in no row.
void note_faults(const SectionRows& rows, const store::TraceReader& trace, Sentence& note) {
  const std::uint64_t mapped = rows.number(0, "_mapped_bytes");
  if (mapped >= kLeastMappedBytes && !trace.has_rows(IOT_KIND_fault_file))
    note.add("; not in it: the time of page faults, for which {mapped_bytes} were read: name the "
             "layer fault in `record --layers`, where `iotrail doctor` shows fault_file",
             {bytes_value("mapped_bytes", mapped)});
}

// The rest of the run was computation, or waits that are no I/O.
void note_time(const SectionRows& rows, const store::TraceReader& trace, Section& section) {
  Sentence note = rest_of_groups(section, "operation");
  note.add(note.empty() ? "" : "; ");
  note.add(fmt::format("of run: share of the {{run_ns}} with at least one{} in progress;",
                       trace.manifest().sample_of == 0 ? "" : " of those in the sample"),
           {ns_value("run_ns", rows.number(0, "_run_ns"))});
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (row == 0 || rows.text(row, "layer") != rows.text(row - 1, "layer"))
      note_layer(rows, row, note);
  note_faults(rows, trace, note);
  section.notes.push_back(std::move(note));
}

} // namespace

SectionDefinition time_section() {
  return {.id = "time",
          .ranks = {.report = 10},
          .subject = "operation",
          .title = "Where the time went",
          .view = "time_spent",
          .layer_phrase = ", calls at layer ",
          .if_empty = "no calls were recorded",
          .sql = kTimeSql,
          .order = "busy_ns DESC, operations DESC, _operation",
          .group = "layer",
          .group_order = kLayerOrder,
          .rows = 5,
          .columns = kTimeColumns,
          .add_notes = note_time};
}

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
//
// How files were accessed, at each layer.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition pattern_share(std::string_view title, std::string_view name,
                                         int drop_priority = 0) {
  return {.title = title,
          .name = name,
          .meaning = Meaning::share,
          .omit = Omit::if_zero,
          .zero_is_dash = true,
          .drop_priority = drop_priority};
}

constexpr ColumnDefinition kProfileColumns[] = {
    {.title = "layer", .name = "layer"},
    {.title = "", .name = "direction"},
    {.title = "accesses", .name = "accesses", .meaning = Meaning::count, .is_sum = true},
    {.title = "bytes", .name = "bytes", .meaning = Meaning::bytes, .is_sum = true},
    {.title = "mean", .name = "bytes_mean", .meaning = Meaning::bytes, .drop_priority = 2},
    {.title = "4K/s",
     .name = "iops_4k",
     .meaning = Meaning::count,
     .drop_priority = 3,
     .is_sum = true},
    pattern_share("in order", "sequential_share"),
    pattern_share("strided", "strided_share"),
    pattern_share("reverse", "reverse_share", 5),
    pattern_share("repeated", "repeated_share", 6),
    pattern_share("random", "random_share"),
    {.title = "rewritten",
     .name = "again_share",
     .meaning = Meaning::share,
     .zero_is_dash = true,
     .drop_priority = 4},
    {.title = "file", .name = "path", .meaning = Meaning::path, .suppress_repeats = true},
};
constexpr std::string_view kProfileSql = R"(
SELECT p.layer AS layer, p.direction AS direction, p.accesses AS accesses, p.bytes AS bytes, p.bytes_mean AS bytes_mean,
       p.bytes_min AS bytes_min, p.bytes_max AS bytes_max, p.iops_4k AS iops_4k, p.mib_per_s AS mib_per_s,
       p.sequential_share AS sequential_share, p.strided / nullif(p.accesses - p.streams, 0) AS strided_share,
       p.reverse / nullif(p.accesses - p.streams, 0) AS reverse_share, p.repeated / nullif(p.accesses - p.streams, 0) AS repeated_share,
       p.random_share AS random_share, p.in_order_share AS in_order_share, p.streams AS streams, p.aligned AS aligned,
       p.alignment_bytes AS alignment_bytes, p.distinct_bytes AS distinct_bytes, p.again_share AS again_share,
       p.until_ns - p.from_ns AS duration_ns, p.path AS path, p.file AS file, d.name AS device_name, l.depth AS _depth,
       max(p.bytes) OVER (PARTITION BY p.file) AS _file_bytes
FROM file_profiles AS p JOIN layer_list AS l ON p.layer = l.layer LEFT JOIN devices AS d ON p.device = d.device)";

void note_profiles(const SectionRows&, const store::TraceReader&, Section& section) {
  note_rest(section, "rows");
  section.notes.push_back(
      sentence("shares are of all accesses but the first of each stream: a thread, a file and a "
               "direction; 4K/s: bytes in units of 4 KiB, per second"));
}

} // namespace

SectionDefinition profile_files_section() {
  return {.id = "files",
          .ranks = {.profile = 10},
          .title = "How files were accessed",
          .view = "file_profiles",
          .if_empty = "none: no read or write of a file at a known position is in the trace",
          .sql = kProfileSql,
          .order = "_file_bytes DESC, path, file, _depth, direction, device_name",
          .order_label = "bytes",
          .rows = 12,
          .columns = kProfileColumns,
          .add_notes = note_profiles};
}

} // namespace iotrail::output

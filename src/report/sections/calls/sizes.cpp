// SPDX-License-Identifier: BSD-3-Clause
//
// Operations by size, in classes that fit a line; the view `sizes` has finer ones.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition size_class(std::string_view title, std::string_view name) {
  return {.title = title,
          .name = name,
          .meaning = Meaning::count,
          .zero_is_dash = true,
          .is_sum = true};
}

constexpr ColumnDefinition kSizeColumns[] = {
    {.title = "layer", .name = "layer", .suppress_repeats = true},
    {.title = "operation", .name = "operation"},
    {.title = "0 B",
     .name = "from_0",
     .meaning = Meaning::count,
     .omit = Omit::if_zero,
     .zero_is_dash = true,
     .drop_priority = 1,
     .is_sum = true},
    size_class("1 B+", "from_1"),
    size_class("512 B+", "from_512"),
    size_class("4 KiB+", "from_4k"),
    size_class("16 KiB+", "from_16k"),
    size_class("64 KiB+", "from_64k"),
    size_class("256 KiB+", "from_256k"),
};
constexpr std::string_view kSizesSql = R"(
SELECT s.layer AS layer, s.operation AS operation, d.depth AS _depth,
       CAST(sum(CASE WHEN from_bytes = 0 THEN operations ELSE 0 END) AS BIGINT) AS from_0,
       CAST(sum(CASE WHEN from_bytes BETWEEN 1 AND 511 THEN operations ELSE 0 END) AS BIGINT) AS from_1,
       CAST(sum(CASE WHEN from_bytes BETWEEN 512 AND 4095 THEN operations ELSE 0 END) AS BIGINT) AS from_512,
       CAST(sum(CASE WHEN from_bytes BETWEEN 4096 AND 16383 THEN operations ELSE 0 END) AS BIGINT) AS from_4k,
       CAST(sum(CASE WHEN from_bytes BETWEEN 16384 AND 65535 THEN operations ELSE 0 END) AS BIGINT) AS from_16k,
       CAST(sum(CASE WHEN from_bytes BETWEEN 65536 AND 262143 THEN operations ELSE 0 END) AS BIGINT) AS from_64k,
       CAST(sum(CASE WHEN from_bytes >= 262144 THEN operations ELSE 0 END) AS BIGINT) AS from_256k,
       total(operations) AS operations, total(bytes) AS bytes
FROM sizes AS s LEFT JOIN layer_list AS d ON s.layer = d.layer
WHERE is_asked(s.layer) OR s.layer = layer_at('devices')
GROUP BY s.layer, s.operation, d.depth)";

void note_sizes(const SectionRows&, const store::TraceReader&, Section& section) {
  if (Sentence rest = rest_of_groups(section); !rest.empty())
    section.notes.push_back(std::move(rest));
}

} // namespace

SectionDefinition sizes_section() {
  return {.id = "sizes",
          .ranks = {.report = 40},
          .title = "How large: operations by size",
          .view = "sizes",
          .sql = kSizesSql,
          .order = "bytes DESC, operation",
          .group = "layer",
          .group_order = kLayerOrder,
          .rows = 2,
          .columns = kSizeColumns,
          .add_notes = note_sizes};
}

} // namespace iotrail::output

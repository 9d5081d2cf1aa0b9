// SPDX-License-Identifier: BSD-3-Clause
//
// The sizes of accesses, those of at least 1 % each.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kAccessSizeColumns[] = {
    {.title = "layer", .name = "layer", .suppress_repeats = true},
    {.title = "", .name = "direction"},
    {.title = "size", .name = "bytes", .meaning = Meaning::bytes},
    {.title = "accesses", .name = "accesses", .meaning = Meaning::count, .is_sum = true},
    {.title = "share", .name = "share", .meaning = Meaning::share},
};
constexpr std::string_view kAccessSizesSql = R"(
WITH
  counted AS (
    SELECT layer, direction, bytes, total(accesses) AS accesses, sum(sum(accesses)) OVER (PARTITION BY layer, direction) AS all_accesses
    FROM access_sizes
    GROUP BY layer, direction, bytes
  )
SELECT c.layer AS layer, c.direction AS direction, c.bytes AS bytes, c.accesses AS accesses, c.accesses / c.all_accesses AS share,
       l.depth AS _depth
FROM counted AS c JOIN layer_list AS l ON c.layer = l.layer
WHERE c.accesses >= 0.01 * c.all_accesses)";

void note_access_sizes(const SectionRows&, const store::TraceReader&, Section& section) {
  if (Sentence rest = rest_of_groups(section); !rest.empty())
    section.notes.push_back(std::move(rest));
  section.notes.push_back(sentence("sizes of at least 1 % of the accesses of their layer and "
                                   "direction"));
}

} // namespace

SectionDefinition profile_sizes_section() {
  return {.id = "sizes",
          .ranks = {.profile = 40},
          .title = "Sizes of accesses",
          .view = "access_sizes",
          .sql = kAccessSizesSql,
          .order = "accesses DESC, direction, bytes",
          .group = "layer",
          .group_order = kLayerOrder,
          .rows = 6,
          .columns = kAccessSizeColumns,
          .add_notes = note_access_sizes};
}

} // namespace iotrail::output

// SPDX-License-Identifier: BSD-3-Clause
//
// Which parts of files were accessed, as a drawn map.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kRegionColumns[] = {
    {.title = "layer", .name = "layer"},
    {.title = "", .name = "direction"},
    {.title = "from", .name = "from_byte", .meaning = Meaning::bytes, .drop_priority = 1},
    {.title = "to", .name = "to_byte", .meaning = Meaning::bytes},
    {.title = "bytes in 32 regions", .name = "_map"},
    {.title = "file", .name = "path", .meaning = Meaning::path, .suppress_repeats = true},
};
// A region with the most bytes is @, one without any is blank, and the others are between.
constexpr std::string_view kRegionsSql = R"(
WITH
  regions AS MATERIALIZED (SELECT * FROM file_regions),
  cells AS (
    SELECT layer, file, device, direction, region // 2 AS cell, CAST(sum(bytes) AS DOUBLE) AS bytes
    FROM regions
    GROUP BY layer, file, device, direction, cell
  ),
  lines AS (
    SELECT r.layer AS layer, r.file AS file, r.device AS device, r.direction AS direction, any_value(r.path) AS path, total(r.bytes) AS bytes,
           '[' || string_agg('[' || r.region || ', ' || r.bytes || ']', ', ' ORDER BY r.region) || ']' AS regions
    FROM regions AS r
    GROUP BY r.layer, r.file, r.device, r.direction
  ),
  ranges AS (
    SELECT layer, file, device, CASE device WHEN 0 THEN 0 ELSE min(position) END AS from_byte, max(plus(position, bytes)) AS to_byte
    FROM file_accesses
    GROUP BY layer, file, device
  ),
  drawn AS (
    SELECT l.layer AS layer, l.file AS file, l.device AS device, l.direction AS direction,
           string_agg(CASE WHEN c.bytes > 0 THEN substr('.:-=+*#%@', 1 + CAST(floor(8 * c.bytes / m.most) AS INTEGER), 1) ELSE ' ' END, '' ORDER BY n.cell) AS map
    FROM lines AS l
      CROSS JOIN (SELECT unnest(range(32)) AS cell) AS n
      JOIN (SELECT layer, file, device, direction, max(bytes) AS most FROM cells GROUP BY ALL) AS m
        ON l.layer = m.layer AND l.file = m.file AND l.device = m.device AND l.direction = m.direction
      LEFT JOIN cells AS c ON l.layer = c.layer AND l.file = c.file AND l.device = c.device AND l.direction = c.direction AND n.cell = c.cell
    GROUP BY l.layer, l.file, l.device, l.direction
  )
SELECT l.layer AS layer, l.direction AS direction, r.from_byte AS from_byte, r.to_byte AS to_byte, '|' || d.map || '|' AS _map, l.path AS path,
       l.file AS file, v.name AS device_name, l.regions AS regions, t.depth AS _depth,
       max(l.bytes) OVER (PARTITION BY l.file) AS _file_bytes
FROM lines AS l
  JOIN drawn AS d ON l.layer = d.layer AND l.file = d.file AND l.device = d.device AND l.direction = d.direction
  JOIN ranges AS r ON l.layer = r.layer AND l.file = r.file AND l.device = r.device
  JOIN layer_list AS t ON l.layer = t.layer
  LEFT JOIN devices AS v ON l.device = v.device)";

void note_regions(const SectionRows&, const store::TraceReader&, Section& section) {
  note_rest(section, "rows");
  section.notes.push_back(sentence("from . to @: a few to the most bytes of the row's regions; "
                                   "block: of the disk, from the first to the last place used"));
}

} // namespace

SectionDefinition profile_regions_section() {
  return {.id = "regions",
          .ranks = {.profile = 30},
          .title = "Which parts of them",
          .view = "file_regions",
          .sql = kRegionsSql,
          .order = "_file_bytes DESC, path, file, _depth, direction, device_name",
          .rows = 12,
          .columns = kRegionColumns,
          .add_notes = note_regions};
}

} // namespace iotrail::output

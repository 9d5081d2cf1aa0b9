// SPDX-License-Identifier: BSD-3-Clause
//
// The bytes of each layer, compared with the layer above.
#include <algorithm>

#include "report/section.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kByteColumns[] = {
    {.title = "", .name = "direction", .suppress_repeats = true},
    {.title = "layer", .name = "layer"},
    {.title = "count", .name = "operations", .meaning = Meaning::count},
    {.title = "bytes", .name = "bytes", .meaning = Meaning::bytes},
    {.title = "to above", .name = "ratio", .meaning = Meaning::ratio},
    {.title = "why", .name = "explanation", .meaning = Meaning::sentence},
};

void note_bytes(const SectionRows& rows, const store::TraceReader& trace, Section& section) {
  Sentence other;
  Sentence metadata;
  double lost_share = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    lost_share = std::max(lost_share, rows.real(row, "lost_share"));
    const std::uint64_t bytes = rows.number(row, "other_bytes");
    if (bytes == 0)
      continue;
    const bool is_cache = rows.text(row, "layer") == schema::layer_name(IOT_LAYER_cache);
    Sentence& note = is_cache ? metadata : other;
    if (note.empty())
      note.add(is_cache ? "nor pages of disks (metadata of file systems): "
                        : "not counted here (pipes, sockets, terminals, /proc, /sys): ");
    note.add(note.values.empty() ? "{layer} {direction} {other_bytes}"
                                 : ", {layer} {direction} {other_bytes}",
             {text_value("layer", rows.text(row, "layer")),
              text_value("direction", rows.text(row, "direction")),
              bytes_value("other_bytes", bytes)});
  }
  for (Sentence* note : {&other, &metadata})
    if (!note->empty())
      section.notes.push_back(std::move(*note));
  if (lost_share > 0)
    section.notes.push_back(
        sentence("{lost_share} of the events were lost: bytes may be missing here, see Losses",
                 {share_value("lost_share", lost_share)}));
  if (trace.damage().any())
    section.notes.push_back(
        sentence("the bytes of damaged blocks are missing here: see Losses before the reasons"));
}

} // namespace

SectionDefinition bytes_section() {
  return {.id = "bytes",
          .ranks = {.report = 180},
          .title = "Bytes of files on their way down",
          .view = "amplification",
          .sql = "SELECT * FROM amplification",
          .order = "step",
          .group = "direction",
          .group_order = "direction DESC",
          .columns = kByteColumns,
          .add_notes = note_bytes};
}

} // namespace iotrail::output

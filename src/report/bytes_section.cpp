// SPDX-License-Identifier: BSD-3-Clause
#include "report/bytes_section.hpp"

#include <algorithm>

#include "schema.hpp"
#include "text/units.hpp"

namespace iotrail::output {

namespace {

constexpr SectionColumn kByteColumns[] = {
    {.title = "", .name = "direction", .when = When::changed},
    {.title = "layer", .name = "layer"},
    {.title = "count", .name = "operations", .show = Show::count},
    {.title = "bytes", .name = "bytes", .show = Show::bytes},
    {.title = "to above", .name = "ratio", .show = Show::ratio},
    {.title = "why", .name = "explanation", .fit = Fit::wrap},
};

void note_bytes(const SmallResult& rows, const store::TraceReader& trace, Sink& sink,
                std::size_t width) {
  std::string other;
  std::string metadata;
  double lost_share = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    lost_share = std::max(lost_share, rows.real(row, "lost_share"));
    const std::uint64_t bytes = rows.number(row, "other_bytes");
    if (bytes == 0)
      continue;
    const bool is_cache = rows.text(row, "layer") == schema::layer_name(IOT_LAYER_cache);
    std::string& text = is_cache ? metadata : other;
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", rows.text(row, "layer"),
                        rows.text(row, "direction"), human_bytes(bytes));
  }
  if (!other.empty())
    print_wrapped(
        fmt::format("not counted here (pipes, sockets, terminals, /proc, /sys): {}", other), sink,
        width);
  if (!metadata.empty())
    print_wrapped(fmt::format("nor pages of disks (metadata of file systems): {}", metadata), sink,
                  width);
  if (lost_share > 0)
    print_wrapped(fmt::format("{} of the events were lost: bytes may be missing here, see Losses",
                              human_share(lost_share)),
                  sink, width);
  if (trace.damage().any())
    print_wrapped("the bytes of damaged blocks are missing here: see Losses before the reasons",
                  sink, width);
}

} // namespace

Section bytes_section() {
  return {.name = "bytes",
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

// SPDX-License-Identifier: BSD-3-Clause
//
// The disk images of virtual machines (--vm).
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kVmDisksColumns[] = {
    {.title = "machine", .name = "machine", .omit = Omit::if_unknown, .suppress_repeats = true},
    {.title = "pid",
     .name = "pid",
     .meaning = Meaning::id,
     .suppress_repeats = true,
     .drop_priority = 2},
    {.title = "drive", .name = "drive", .omit = Omit::if_unknown},
    {.title = "read", .name = "data_bytes_read", .meaning = Meaning::bytes, .zero_is_dash = true},
    {.title = "write",
     .name = "data_bytes_written",
     .meaning = Meaning::bytes,
     .zero_is_dash = true},
    {.title = "metadata",
     .name = "metadata_bytes",
     .meaning = Meaning::bytes,
     .omit = Omit::if_zero,
     .zero_is_dash = true,
     .drop_priority = 1},
    {.title = "unknown",
     .name = "unknown_bytes",
     .meaning = Meaning::bytes,
     .omit = Omit::if_zero,
     .zero_is_dash = true},
    {.title = "dev read",
     .name = "device_bytes_read",
     .meaning = Meaning::bytes,
     .omit = Omit::if_unknown,
     .zero_is_dash = true},
    {.title = "dev write",
     .name = "device_bytes_written",
     .meaning = Meaning::bytes,
     .omit = Omit::if_unknown,
     .zero_is_dash = true},
    {.title = "format", .name = "format", .drop_priority = 3},
    {.title = "image", .name = "path", .meaning = Meaning::path},
};
constexpr std::string_view kVmDisksSql = R"(
SELECT *, plus(metadata_bytes_read, metadata_bytes_written) AS metadata_bytes,
       plus(unknown_bytes_read, unknown_bytes_written) AS unknown_bytes
FROM vm_disks)";

void note_vm_disks(const SectionRows& rows, const store::TraceReader&, Section& section) {
  note_rest(section, "images");
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (rows.number(row, "unknown_bytes") > 0) {
      section.notes.push_back(sentence(
          "unknown: bytes that the tables of the image did not name when the recording ended"));
      return;
    }
}

} // namespace

SectionDefinition vm_disks_section() {
  return {.id = "vm_disks",
          .ranks = {.report = 145},
          .title = "Disks of virtual machines",
          .view = "vm_disks",
          .sql = kVmDisksSql,
          .order = "machine, pid, drive NULLS LAST, depth, path",
          .rows = 20,
          .columns = kVmDisksColumns,
          .event = "snapshot_vm_image",
          .add_notes = note_vm_disks};
}

} // namespace iotrail::output

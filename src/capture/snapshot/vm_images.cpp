// SPDX-License-Identifier: BSD-3-Clause
#include "capture/snapshot/vm_images.hpp"

namespace iotrail::capture::snapshot {
namespace {

void take_images(SnapshotRun& run, const vm::OpenImages& machine, vm::MapBudget budget) {
  for (const vm::Image& image : machine.images()) {
    const auto number = static_cast<iot_u32>(++run.found);
    const vm::ImageMap map = vm::read_image_map(image, budget);
    iot_snapshot_vm_image row{};
    row.event.pid = row.event.tid = static_cast<iot_u32>(machine.pid());
    row.inode = image.inode;
    row.guest_bytes = image.guest_bytes;
    row.cluster_bytes = image.cluster_bytes;
    row.image = number;
    row.depth = image.depth;
    row.format = image.format;
    row.device = image.device;
    row.is_mapped = map.is_complete ? 1 : 0;
    run.add(row, {{&iot_snapshot_vm_image::machine, machine.machine()},
                  {&iot_snapshot_vm_image::drive, image.drive},
                  {&iot_snapshot_vm_image::path, image.path},
                  {&iot_snapshot_vm_image::backing, image.backing}});
    for (const vm::ImageRange& range : map.ranges) {
      iot_snapshot_vm_map part{};
      part.event.pid = part.event.tid = row.event.pid;
      part.offset = range.position;
      part.bytes = range.bytes;
      part.guest_offset = range.guest_position;
      part.image = number;
      part.content = range.content;
      run.add(part, {});
    }
  }
}

} // namespace

void take_vm_images(SnapshotRun& run, const vm::OpenImages& machine) {
  take_images(run, machine, {.table_bytes = 0, .ranges = 0});
}

void take_vm_maps(SnapshotRun& run, const vm::OpenImages& machine) {
  take_images(run, machine, {});
}

} // namespace iotrail::capture::snapshot

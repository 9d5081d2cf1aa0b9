// SPDX-License-Identifier: BSD-3-Clause
//
// The disk images of a virtual machine as rows.
#pragma once

#include "capture/snapshot/rows/snapshot_run.hpp"
#include "capture/vm/open_images.hpp"

namespace iotrail::capture::snapshot {

// One row an image, with the map of raw images.
void take_vm_images(SnapshotRun& run, const vm::OpenImages& machine);

// The same with the maps of all images.
void take_vm_maps(SnapshotRun& run, const vm::OpenImages& machine);

} // namespace iotrail::capture::snapshot

// SPDX-License-Identifier: BSD-3-Clause
//
// The source of the layer snapshot: takes snapshots of file systems, processes and the system at
// the start of the recording, and periodically on request. Each kind has a thread of its own. For a
// file system, all snapshots after the first are deltas. Each virtual machine of the filter has a
// snapshot at the start and one at the end.
#pragma once

#include <memory>

#include "capture/request/request.hpp"
#include "capture/source.hpp"

namespace iotrail::capture {

std::unique_ptr<Source> make_snapshot_source(SnapshotOptions options);

} // namespace iotrail::capture

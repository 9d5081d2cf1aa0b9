// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "abi.h"
#include "capture/selection/filter.hpp"
#include "store/format/manifest.hpp"

namespace iotrail::capture {

// Which requests of a disk (major << 20 | minor) a recording with this filter has.
store::DiskCoverage disk_coverage(const Filter& filter, iot_u32 disk);

} // namespace iotrail::capture

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "base/result.hpp"
#include "rows.hpp"

namespace iotrail::capture::kernel {

// What sysfs tells of a block device; what it does not tell stays 0 or empty. Numbers: major << 20 | minor.
rows::devices describe_block_device(io_u32 device);

// The whole disk that `device` is a partition of; itself where it is none.
io_u32 whole_disk(io_u32 device);

// Of a whole disk: itself and its partitions.
std::vector<io_u32> partitions_of(io_u32 disk);

// The kernel's number of a device; and of one as stat(2) tells it.
io_u32 device_number(unsigned major, unsigned minor);
io_u32 kernel_device(std::uint64_t st_dev);

} // namespace iotrail::capture::kernel

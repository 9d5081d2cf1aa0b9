// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <istream>
#include <vector>

#include "base/result.hpp"
#include "dictionary_rows.hpp"

namespace iotrail::capture::kernel {

// What sysfs tells of a block device; what it does not tell stays 0 or empty. Numbers: major << 20 | minor.
rows::devices describe_block_device(iot_u32 device);

// The whole disk that `device` is a partition of; itself where it is none.
iot_u32 whole_disk(iot_u32 device);

// Of a whole disk: itself and its partitions.
std::vector<iot_u32> partitions_of(iot_u32 disk);

// The kernel's number of a device; and of one as stat(2) tells it.
iot_u32 device_number(unsigned major, unsigned minor);
iot_u32 kernel_device(std::uint64_t st_dev);

// "8:1", as sysfs and mountinfo write it; 0: the text holds something else.
iot_u32 read_device(std::istream& text);

} // namespace iotrail::capture::kernel

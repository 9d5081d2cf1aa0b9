// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "dictionary_rows.hpp"

namespace iotrail::capture::kernel {

// Facts from sysfs about a block device; unknown ones are 0 or empty. Numbers: major << 20 | minor.
rows::devices describe_block_device(iot_u32 device);

// The whole disk of the partition `device`; itself if it is not a partition.
iot_u32 whole_disk(iot_u32 device);

// The whole disk of a block device by its path; 0: it is none.
iot_u32 disk_of(const std::string& path);

// A whole disk and its partitions.
std::vector<iot_u32> partitions_of(iot_u32 disk);

// The kernel's number of a device, from major and minor or from stat(2).
iot_u32 device_number(unsigned major, unsigned minor);
iot_u32 kernel_device(std::uint64_t st_dev);

// "8:1", as in sysfs and mountinfo; 0: other text.
iot_u32 read_device(std::istream& text);

} // namespace iotrail::capture::kernel

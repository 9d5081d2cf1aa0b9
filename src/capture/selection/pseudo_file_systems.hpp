// SPDX-License-Identifier: BSD-3-Clause
//
// File systems in which the kernel tells of itself (schema/pseudo_file_systems.def): most recordings are not of them.
#pragma once

#include <string>
#include <unordered_map>

#include "schema.hpp"

namespace iotrail::capture {

// False: it is not, or there is no such file.
bool is_on_pseudo_file_system(const std::string& path);

// By device, major << 20 | minor, as far as this process sees them mounted.
class PseudoDevices {
public:
  bool contains(iot_u32 device);

private:
  void look();

  std::unordered_map<iot_u32, bool> known_;
};

} // namespace iotrail::capture

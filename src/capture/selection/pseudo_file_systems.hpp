// SPDX-License-Identifier: BSD-3-Clause
//
// File systems with kernel state instead of data (schema/pseudo_file_systems.def): most recordings
// exclude them.
#pragma once

#include <string>
#include <unordered_map>

#include "schema.hpp"

namespace iotrail::capture {

// False also for a missing file.
bool is_on_pseudo_file_system(const std::string& path);

// By device, major << 20 | minor, for the mounts in this process's mount namespace.
class PseudoDevices {
public:
  bool contains(iot_u32 device);

private:
  void look();

  std::unordered_map<iot_u32, bool> known_;
};

} // namespace iotrail::capture

// SPDX-License-Identifier: BSD-3-Clause
//
// File systems without events of the layer fs (schema/file_systems.def). Work on their files
// appears only at the other layers; iotrail warns if the user selects that layer.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schema.hpp"

namespace iotrail::capture {

// The type of file systems with this magic; "0x1234": unknown.
std::string file_system_type(iot_u32 magic);

class UnsupportedFileSystems {
public:
  // Notes a regular file on a file system with that magic; `device`: major << 20 | minor. Pseudo
  // file systems (schema/pseudo_file_systems.def) do not count.
  void see(iot_u32 magic, iot_u32 device);

  // In order, each once: by type, or "file system 0x1234" if no mount of this process has it.
  std::vector<std::string> names() const;

private:
  std::map<iot_u32, iot_u32>
      devices_; // by magic, the first one seen; 0: the file system is not bare
};

} // namespace iotrail::capture

// SPDX-License-Identifier: BSD-3-Clause
//
// File systems that the layer fs has no event of (schema/file_systems.def): what is done to their files is seen at the other
// layers only, which whoever asks for that layer is told.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schema.hpp"

namespace iotrail::capture {

class BareFileSystems {
public:
  // A regular file lies on a file system with that magic; `device`: major << 20 | minor. Those in which the kernel tells of
  // itself (schema/pseudo_file_systems.def) do not count.
  void see(iot_u32 magic, iot_u32 device);

  // In order, each once: by type or, of one that no mount of this process names, "file system 0x1234".
  std::vector<std::string> names() const;

private:
  std::map<iot_u32, iot_u32>
      devices_; // by magic, the first that was seen; 0: the file system is not bare
};

} // namespace iotrail::capture

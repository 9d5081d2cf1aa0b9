// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dirent.h>

#include <memory>

namespace iotrail {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// A directory that is being read; closed when it goes.
using OpenDirectory = std::unique_ptr<DIR, CloseDirectory>;

} // namespace iotrail

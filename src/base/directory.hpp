// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dirent.h>

#include <memory>

namespace iotrail {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// An open directory; closed on destruction.
using OpenDirectory = std::unique_ptr<DIR, CloseDirectory>;

} // namespace iotrail

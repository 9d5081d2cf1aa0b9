// SPDX-License-Identifier: BSD-3-Clause
//
// Why the dynamic linker will not load the preload library into a program. Judged by the collector of the command, and by the
// library of what its program executes: without the C++ library and calls that are hooked.
#pragma once

#include "capture/preload/arena.hpp"

namespace iotrail::capture::preload {

// By the program's file; scripts are followed to their interpreter. What cannot be read is no obstacle.
Obstacle obstacle_of_path(const char* path);

} // namespace iotrail::capture::preload
